// A queue of one between two producers and two consumers, then waits that must time out.
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER, all;
static int slot, full, left = 40;

static void *produce(void *unused) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&m);
        while (full) pthread_cond_wait(&emptied, &m);
        slot = i; full = 1;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&m);
    }
    return unused;
}

static void *consume(void *sum) {
    pthread_mutex_lock(&m);
    for (;;) {
        while (!full && left) pthread_cond_wait(&filled, &m);
        if (!left) break;
        *(int *)sum += slot; full = 0;
        if (!--left) pthread_cond_broadcast(&filled);
        pthread_cond_signal(&emptied);
    }
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    static int sums[2];
    pthread_t t[4];
    pthread_create(&t[0], 0, consume, &sums[0]);
    pthread_create(&t[1], 0, consume, &sums[1]);
    pthread_create(&t[2], 0, produce, 0);
    pthread_create(&t[3], 0, produce, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);

    // Nobody signals: one wait on each clock.
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&all, &attr);
    struct timespec at;
    int timeouts = 0;
    pthread_mutex_lock(&m);
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += 20000000; if (at.tv_nsec >= 1000000000) { at.tv_nsec -= 1000000000; at.tv_sec++; }
    timeouts += pthread_cond_timedwait(&all, &m, &at) == ETIMEDOUT;
    clock_gettime(CLOCK_REALTIME, &at);
    timeouts += pthread_cond_timedwait(&filled, &m, &at) == ETIMEDOUT;
    pthread_mutex_unlock(&m);
    pthread_cond_destroy(&all);
    return sums[0] + sums[1] == 380 && timeouts == 2 ? 0 : 1;
}
