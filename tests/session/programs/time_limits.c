/* Waits for locks, conditions and semaphores that only their time limit ends. When one has ended, the clock says so. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static struct timespec ahead(clockid_t clock, long seconds, long nanos)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += seconds;
    time.tv_nsec += nanos;
    if (time.tv_nsec >= 1000000000) {
        time.tv_sec++;
        time.tv_nsec -= 1000000000;
    }
    return time;
}

static void is_over(clockid_t clock, struct timespec limit)
{
    struct timespec now;
    clock_gettime(clock, &now);
    if (now.tv_sec < limit.tv_sec || now.tv_sec == limit.tv_sec && now.tv_nsec < limit.tv_nsec)
        abort();
}

#define WAITS(clock, call) \
    do { \
        struct timespec limit = ahead(clock, 3600, 0); \
        if ((call) != ETIMEDOUT) \
            abort(); \
        is_over(clock, limit); \
    } while (0)

#define OF_ERRNO(call) ((call) == 0 ? 0 : errno)

static void *waits(void *unused)
{
    WAITS(CLOCK_REALTIME, pthread_mutex_timedlock(&mutex, &limit));
    WAITS(CLOCK_MONOTONIC, pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &limit));
    WAITS(CLOCK_REALTIME, pthread_rwlock_timedrdlock(&lock, &limit));
    WAITS(CLOCK_MONOTONIC, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &limit));
    WAITS(CLOCK_REALTIME, OF_ERRNO(sem_timedwait(&semaphore, &limit)));
    pthread_mutex_lock(&own);
    WAITS(CLOCK_REALTIME, pthread_cond_timedwait(&condition, &own, &limit));
    pthread_mutex_unlock(&own);
    /* A time that is over when the wait begins is not waited for. */
    struct timespec before = ahead(CLOCK_REALTIME, 0, 0), now;
    if (pthread_mutex_timedlock(&mutex, &(struct timespec){0, -1}) != EINVAL)
        abort();
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec > before.tv_sec + 60)
        abort();
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&lock);
    pthread_create(&thread, NULL, waits, NULL);
    return pthread_join(thread, NULL);
}
