/* What threads tell each other of the time, each in a way of its own, is never ahead of what the other's clocks say;
   and what they slept has passed when they are joined. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t barrier;
static _Atomic long told;
static long woken, posted, met, sent;
static int ends[2];

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void check(long earlier, long passed) {
    if (now() - earlier < passed)
        abort();
}

static void *tells(void *unused) {
    usleep(100000);
    pthread_mutex_lock(&lock);
    woken = now();
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&lock);
    usleep(100000);
    posted = now();
    sem_post(&semaphore);
    usleep(100000);
    met = now();
    pthread_barrier_wait(&barrier);
    usleep(100000);
    atomic_store(&told, now());
    usleep(100000);
    sent = now();
    write(ends[1], "", 1);
    usleep(100000);
    return unused;
}

int main(void) {
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    if (pipe(ends) != 0)
        abort();
    long start = now();
    usleep(50000);
    pthread_t thread;
    pthread_create(&thread, NULL, tells, NULL);
    pthread_mutex_lock(&lock);
    while (woken == 0)
        pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
    check(woken, 0);
    check(start, 150);
    sem_wait(&semaphore);
    check(posted, 0);
    pthread_barrier_wait(&barrier);
    check(met, 0);
    while (atomic_load(&told) == 0)
        sched_yield();
    check(told, 0);
    /* Whoever waits for a descriptor hears of the time as soon as it is ready. */
    struct pollfd ready = {.fd = ends[0], .events = POLLIN};
    if (poll(&ready, 1, -1) != 1)
        abort();
    check(sent, 0);
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        abort();
    pthread_join(thread, NULL);
    check(start, 650);
    return 0;
}
