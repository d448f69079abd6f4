/* Threads that may be cancelled anywhere: while they compute or wait, at once, when they let it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t held_too = PTHREAD_RWLOCK_INITIALIZER;
static volatile long numbers[64], started, cleaned, after;
static int atomic;

static void check(int ok) {
    if (!ok)
        abort();
}

static void clean(void *argument) {
    pthread_mutex_lock(&lock);
    cleaned++;
    pthread_mutex_unlock(&lock);
}

static void start(void) {
    int old = -1;
    check(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0 && old == PTHREAD_CANCEL_DEFERRED);
    check(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) == 0 && old == PTHREAD_CANCEL_ASYNCHRONOUS);
    check(pthread_setcanceltype(7, &old) != 0);
    __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
}

static __attribute__((noinline)) long deeper(long depth) {
    for (int i = 0; i < 64; i++)
        numbers[i] = numbers[(i + 1) % 64] + 1;
    return depth ? deeper(depth - 1) + numbers[0] : 0;
}

static void *computes(void *unused) {
    pthread_cleanup_push(clean, 0);
    start();
    while (1)
        deeper(5);
    pthread_cleanup_pop(0);
    return 0;
}

static void *waits(void *unused) {
    pthread_cleanup_push(clean, 0);
    start();
    while (__atomic_load_n(&atomic, __ATOMIC_ACQUIRE) == 0)
        ;
    pthread_cleanup_pop(0);
    return 0;
}

static void *sleeps(void *unused) {
    pthread_cleanup_push(clean, 0);
    start();
    while (1)
        usleep(1000);
    pthread_cleanup_pop(0);
    return 0;
}

/* Not before it lets it: it is the last thing that it does. */
static void *puts_it_off(void *unused) {
    int old = -1;
    pthread_cleanup_push(clean, 0);
    check(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
    start();
    for (int i = 0; i < 100; i++)
        deeper(1);
    while (__atomic_load_n(&after, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    pthread_mutex_lock(&lock);
    numbers[0]++;
    pthread_mutex_unlock(&lock);
    check(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old) == 0 && old == PTHREAD_CANCEL_DISABLE);
    abort();
    pthread_cleanup_pop(0);
    return 0;
}

static void *by_itself(void *unused) {
    pthread_cleanup_push(clean, 0);
    start();
    pthread_cancel(pthread_self());
    abort();
    pthread_cleanup_pop(0);
    return 0;
}

/* It is asked to end before it wants to end anywhere. */
static void *later(void *unused) {
    pthread_cleanup_push(clean, 0);
    __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&after, __ATOMIC_ACQUIRE) == 0)
        ;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    abort();
    pthread_cleanup_pop(0);
    return 0;
}

/* POSIX does not allow that, but the C library does it. */
static void *waits_for_a_lock(void *unused) {
    pthread_cleanup_push(clean, 0);
    start();
    pthread_mutex_lock(&held);
    abort();
    pthread_cleanup_pop(0);
    return 0;
}

static void *waits_for_a_writer(void *unused) {
    pthread_cleanup_push(clean, 0);
    start();
    pthread_rwlock_rdlock(&held_too);
    abort();
    pthread_cleanup_pop(0);
    return 0;
}

int main(void) {
    void *(*kinds[])(void *) = {computes, waits, sleeps, puts_it_off, by_itself, later, computes, waits_for_a_lock,
                                waits_for_a_writer};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&held_too);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[KINDS];
        started = cleaned = after = 0;
        for (int i = 0; i < KINDS; i++)
            pthread_create(&threads[i], 0, kinds[i], 0);
        while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < KINDS)
            ;
        for (int i = 0; i < KINDS; i++)
            if (kinds[i] != by_itself)
                pthread_cancel(threads[i]);
        __atomic_store_n(&after, 1, __ATOMIC_RELEASE);
        for (int i = 0; i < KINDS; i++) {
            void *value;
            check(pthread_join(threads[i], &value) == 0);
            /* Of who let it come itself, some versions of the C library forget the value. */
            check(value == PTHREAD_CANCELED || kinds[i] == puts_it_off || kinds[i] == later);
        }
        check(cleaned == KINDS);
    }
    return 0;
}
