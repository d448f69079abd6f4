/* Waits for descriptors and for the end of a thread that only their time limit ends. When one has ended, the clock says so. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

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

static void *waits(void *unused)
{
    sem_wait(&semaphore);
    return unused;
}

int main(void)
{
    sem_init(&semaphore, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    struct timespec limit = ahead(CLOCK_MONOTONIC, 0, 20000000);
    poll(NULL, 0, 20);
    is_over(CLOCK_MONOTONIC, limit);
    limit = ahead(CLOCK_MONOTONIC, 0, 20000000);
    select(0, NULL, NULL, NULL, &(struct timeval){0, 20000});
    is_over(CLOCK_MONOTONIC, limit);
    limit = ahead(CLOCK_MONOTONIC, 0, 20000000);
    ppoll(NULL, 0, &(struct timespec){0, 20000000}, NULL);
    is_over(CLOCK_MONOTONIC, limit);
    limit = ahead(CLOCK_MONOTONIC, 0, 20000000);
    struct epoll_event event;
    epoll_wait(epoll_create1(0), &event, 1, 20);
    is_over(CLOCK_MONOTONIC, limit);
    limit = ahead(CLOCK_REALTIME, 3600, 0);
    if (pthread_timedjoin_np(thread, NULL, &limit) != ETIMEDOUT)
        abort();
    is_over(CLOCK_REALTIME, limit);
    sem_post(&semaphore);
    return pthread_join(thread, NULL);
}
