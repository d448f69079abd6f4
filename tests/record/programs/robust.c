/* Robust mutexes: an owner that ends leaves the lock to the next one, who is told. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock, lost;
static int data;

static void check(int condition) {
    if (!condition)
        abort();
}

static void *dies(void *arg) {
    check(pthread_mutex_lock(&lock) == 0);
    data = 1;
    check(pthread_mutex_lock(&lost) == 0);
    return arg;
}

static void *waits(void *arg) {
    int result = pthread_mutex_lock(&lock);
    check(result == EOWNERDEAD || result == 0);
    if (result == EOWNERDEAD)
        check(pthread_mutex_consistent(&lock) == 0);
    data++;
    check(pthread_mutex_unlock(&lock) == 0);
    return arg;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attr);
    pthread_mutex_init(&lost, &attr);
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, dies, NULL);
    while (1) {
        /* Until it holds both. */
        int result = pthread_mutex_trylock(&lost);
        if (result == EOWNERDEAD)
            break;
        if (result == 0)
            check(pthread_mutex_unlock(&lost) == 0);
        usleep(100);
    }
    /* Given back without having been made consistent. */
    check(pthread_mutex_unlock(&lost) == 0);
    check(pthread_mutex_lock(&lost) == ENOTRECOVERABLE);
    check(pthread_mutex_trylock(&lost) == ENOTRECOVERABLE);
    for (int i = 1; i < 3; i++)
        pthread_create(&threads[i], NULL, waits, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    check(pthread_mutex_lock(&lock) == 0 && data == 3);
    check(pthread_mutex_unlock(&lock) == 0);
    return 0;
}
