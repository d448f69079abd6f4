// A thread is cancelled while it holds two robust mutexes: whoever takes them next is told, whenever it asks.
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t first, second;
static pthread_barrier_t barrier;

static void *ends(void *argument)
{
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    pthread_testcancel();
    return argument;
}

static int is_abandoned(pthread_mutex_t *mutex)
{
    return pthread_mutex_lock(mutex) == EOWNERDEAD && pthread_mutex_consistent(mutex) == 0 &&
           pthread_mutex_unlock(mutex) == 0;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&first, &attributes);
    pthread_mutex_init(&second, &attributes);
    pthread_barrier_init(&barrier, NULL, 2);
    for (int round = 0; round < 2; round++) {
        pthread_t thread;
        pthread_create(&thread, NULL, ends, NULL);
        pthread_barrier_wait(&barrier);
        pthread_cancel(thread);
        pthread_barrier_wait(&barrier);
        if (!is_abandoned(&first) || !is_abandoned(&second))
            return 1;
        if (pthread_join(thread, NULL) != 0)
            return 2;
    }
    return 0;
}
