/* Keeps the result of a function that has none, as x264's thread pool does: whatever the function's last call left in a register.
 *
 * A live run comes to the race only if that is the same there. */
#include <pthread.h>
#include <stdio.h>

typedef void *(*task)(void *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data, seen;
static void *result;
static task volatile kept;

static void nothing(int *value) {
    ++*value;
}

static void *writer(void *arg) {
    int value = 0;
    kept = (task)(void *)nothing;
    result = kept(&value);
    data = result == NULL; /* @write */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *reader(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    seen = data; /* @read */
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("seen %d\n", seen);
    return 0;
}
