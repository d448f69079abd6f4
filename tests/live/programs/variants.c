/* A race that no ordinary run shows, in a program that its argument makes another one.
 *
 * The argument `same` does what the recorded run did; each other one leaves it at one place. The
 * recorder does not see the argument, so only what the program does differs. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other_lock = PTHREAD_MUTEX_INITIALIZER;
static int data, seen, size = 1;
static const char *argument;

__attribute__((no_sanitize("thread"), noinline)) static int is(char letter) {
    return argument && argument[0] == letter;
}

__attribute__((no_sanitize("thread"), noinline)) static void keep(int argc, char **argv) {
    argument = argc > 1 ? argv[1] : "same";
}

static void *writer(void *arg) {
    data = 1; /* @write */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *reader(void *arg) {
    pthread_mutex_t *mine = is('o') ? &other_lock : &lock;
    pthread_mutex_lock(mine); /* @object */
    pthread_mutex_unlock(mine);
    if (is('e'))
        seen = 7; /* @extra */
    int *from = is('m') ? &seen : &size;
    if (*from >= 0) /* @value */
        seen = data; /* @read */
    return arg;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    keep(argc, argv);
    if (is('r'))
        return 3; /* @return */
    if (is('k'))
        raise(SIGKILL);
    if (is('h'))
        pause();
    if (is('v'))
        size = size + 1; /* @change */
    pthread_create(&threads[0], NULL, writer, NULL); /* @first */
    if (!is('d'))
        pthread_create(&threads[1], NULL, reader, NULL); /* @second */
    pthread_join(threads[0], NULL); /* @join */
    if (!is('d'))
        pthread_join(threads[1], NULL);
    printf("seen %d\n", seen);
    return 0;
}
