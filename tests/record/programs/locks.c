// Every way to take a lock, and every way not to get it.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, checking;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t held, done;
static int counter, failures;

#define MUST(x) do { if (!(x)) failures++; } while (0)

static void *hold(void *unused) {
    pthread_mutex_lock(&plain);
    pthread_rwlock_wrlock(&shared);
    pthread_spin_lock(&spin);
    sem_post(&held);
    sem_wait(&done);
    pthread_spin_unlock(&spin);
    pthread_rwlock_unlock(&shared);
    pthread_mutex_unlock(&plain);
    return unused;
}

static void *count(void *unused) {
    for (int i = 0; i < 30; i++) {
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        counter++;
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&recursive);
        pthread_rwlock_rdlock(&shared);
        MUST(counter > 0);
        pthread_rwlock_unlock(&shared);
        pthread_rwlock_wrlock(&shared);
        counter++;
        pthread_rwlock_unlock(&shared);
        pthread_spin_lock(&spin);
        counter++;
        pthread_spin_unlock(&spin);
    }
    return unused;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &attr);
    pthread_spin_init(&spin, 0);
    sem_init(&held, 0, 0);
    sem_init(&done, 0, 0);

    // Held by another thread: three locks, five attempts.
    pthread_t t[3];
    pthread_create(&t[0], 0, hold, 0);
    sem_wait(&held);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 20000000; if (soon.tv_nsec >= 1000000000) { soon.tv_nsec -= 1000000000; soon.tv_sec++; }
    MUST(pthread_mutex_trylock(&plain) == EBUSY);
    MUST(pthread_mutex_timedlock(&plain, &soon) == ETIMEDOUT);
    MUST(pthread_rwlock_tryrdlock(&shared) == EBUSY);
    MUST(pthread_rwlock_trywrlock(&shared) == EBUSY);
    MUST(pthread_spin_trylock(&spin) == EBUSY);
    sem_post(&done);
    pthread_join(t[0], 0);

    // Held by this thread itself: no event between threads.
    MUST(pthread_mutex_trylock(&plain) == 0);
    MUST(pthread_mutex_trylock(&plain) == EBUSY);
    pthread_mutex_unlock(&plain);
    MUST(pthread_mutex_lock(&checking) == 0);
    MUST(pthread_mutex_lock(&checking) == EDEADLK);
    pthread_mutex_unlock(&checking);
    MUST(pthread_mutex_unlock(&checking) == EPERM);

    for (int i = 1; i < 3; i++) pthread_create(&t[i], 0, count, 0);
    for (int i = 1; i < 3; i++) pthread_join(t[i], 0);
    // An address that is initialized again is another lock.
    pthread_mutex_destroy(&checking);
    pthread_mutex_init(&checking, 0);
    pthread_mutex_lock(&checking);
    pthread_mutex_unlock(&checking);
    return failures;
}
