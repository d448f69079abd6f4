/* Waits for what never comes, if the second thread was first: in a loop that reads, or, with an argument, in one that does nothing. */
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int first;
static atomic_int done;

static void *take(void *number) {
    pthread_mutex_lock(&m);
    if (first == 0)
        first = *(int *)number;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(int count, char **arguments) {
    pthread_t t[2];
    int numbers[2] = {1, 2};
    (void)arguments;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, take, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    if (first == 2 && count > 1)
        for (;;)
            __asm__ volatile("");
    while (first == 2 && atomic_load(&done) == 0) {
    }
    return 0;
}
