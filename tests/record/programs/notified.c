/* A thread of glibc's own tells that a timer has run down, and nobody else ends the wait. A mutex with a ceiling that
 * cannot be locked is given back all the same. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static sem_t told;

static void tell(union sigval unused)
{
    sem_post(&told);
}

static void *try_a_ceiling(void *mutex)
{
    if (pthread_mutex_lock(mutex) == 0)
        return 0;
    pthread_mutex_unlock(mutex);
    return 0;
}

int main(void)
{
    sem_init(&told, 0, 0);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        return 1;
    struct itimerspec soon = {.it_value = {0, 1000000}};
    timer_settime(timer, 0, &soon, 0);
    sem_wait(&told);
    timer_delete(timer);

    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
    pthread_mutexattr_setprioceiling(&attributes, 1);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, try_a_ceiling, &mutex);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
