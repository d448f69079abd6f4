/* A thread ends while it holds a robust mutex, whose next owner joins it with the mutex held.
 *
 * Who finds that the owner has ended comes after that, so no schedule has the thread wait for the mutex meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t mutex;
static int kept;

static void *leaves(void *unused)
{
    pthread_mutex_lock(&mutex);
    kept = 1; /* @leaves */
    return unused;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_t thread;
    pthread_create(&thread, NULL, leaves, NULL);
    int result;
    while ((result = pthread_mutex_trylock(&mutex)) != EOWNERDEAD) {
        if (result == 0)
            pthread_mutex_unlock(&mutex);
        sched_yield();
    }
    kept = 2; /* @next */
    pthread_join(thread, NULL);
    pthread_mutex_consistent(&mutex);
    pthread_mutex_unlock(&mutex);
    return kept != 2;
}
