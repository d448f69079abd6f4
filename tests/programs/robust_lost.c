/* A robust mutex that is given back inconsistent: nobody gets it any more, and whoever asks comes after that.
 *
 * So what `late` writes comes behind all that was done with the mutex, and beside what comes after that.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

static pthread_mutex_t mutex;
static sem_t was_taken;
static int kept, free_for_all;

static void *leaves(void *unused)
{
    pthread_mutex_lock(&mutex);
    kept = 1; /* @leaves */
    return unused;
}

static void *loses(void *unused)
{
    if (pthread_mutex_lock(&mutex) != EOWNERDEAD)
        return unused;
    sem_post(&was_taken);
    kept = 2; /* @loses */
    pthread_mutex_unlock(&mutex);
    free_for_all = 1; /* @behind */
    return unused;
}

static void *late(void *unused)
{
    sem_wait(&was_taken);
    while (pthread_mutex_trylock(&mutex) != ENOTRECOVERABLE)
        sched_yield();
    kept = 3;         /* @late */
    free_for_all = 2; /* @late_too */
    return unused;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    sem_init(&was_taken, 0, 0);
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, leaves, NULL);
    pthread_join(threads[0], NULL);
    pthread_create(&threads[1], NULL, loses, NULL);
    pthread_create(&threads[2], NULL, late, NULL);
    pthread_join(threads[1], NULL);
    pthread_join(threads[2], NULL);
    return 0;
}
