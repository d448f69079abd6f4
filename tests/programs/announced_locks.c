/* Locks without instrumentation that the program announces: as a reader-writer lock with AnnotateRWLock…, as a recursive
 * one with __tsan_mutex_…, of which all levels are given back and taken again.
 *
 * `kept` and `deep` are kept by them. `shared` is written with the lock in shared mode, and is the race.
 */
#include <pthread.h>
#include <sched.h>

extern void AnnotateRWLockCreate(const char *, int, const volatile void *);
extern void AnnotateRWLockDestroy(const char *, int, const volatile void *);
extern void AnnotateRWLockAcquired(const char *, int, const volatile void *, long);
extern void AnnotateRWLockReleased(const char *, int, const volatile void *, long);
extern void __tsan_mutex_create(void *, unsigned);
extern void __tsan_mutex_destroy(void *, unsigned);
extern void __tsan_mutex_pre_lock(void *, unsigned);
extern void __tsan_mutex_post_lock(void *, unsigned, int);
extern int __tsan_mutex_pre_unlock(void *, unsigned);
extern void __tsan_mutex_post_unlock(void *, unsigned);

enum { REENTRANT = 1 << 1, LEVELS = 1 << 6, ALL_LEVELS = 1 << 7 };

static int annotated, other, levels;
static int kept, deep, shared;

__attribute__((no_sanitize("thread"), noinline)) static void lock_unseen(int *word)
{
    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

__attribute__((no_sanitize("thread"), noinline)) static void unlock_unseen(int *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static void *worker(void *unused)
{
    lock_unseen(&annotated);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &annotated, 1);
    kept++; /* @kept */
    AnnotateRWLockReleased(__FILE__, __LINE__, &annotated, 1);
    unlock_unseen(&annotated);

    AnnotateRWLockAcquired(__FILE__, __LINE__, &other, 0);
    shared = 1; /* @shared */
    AnnotateRWLockReleased(__FILE__, __LINE__, &other, 0);

    __tsan_mutex_pre_lock(&levels, REENTRANT);
    lock_unseen(&levels);
    __tsan_mutex_post_lock(&levels, REENTRANT, 0);
    __tsan_mutex_pre_lock(&levels, REENTRANT);
    __tsan_mutex_post_lock(&levels, REENTRANT, 0);
    deep++; /* @deep */
    int given_back = __tsan_mutex_pre_unlock(&levels, ALL_LEVELS);
    unlock_unseen(&levels);
    __tsan_mutex_post_unlock(&levels, ALL_LEVELS);

    __tsan_mutex_pre_lock(&levels, LEVELS);
    lock_unseen(&levels);
    __tsan_mutex_post_lock(&levels, LEVELS, given_back);
    __tsan_mutex_pre_unlock(&levels, 0);
    __tsan_mutex_post_unlock(&levels, 0);
    deep++; /* @again */
    __tsan_mutex_pre_unlock(&levels, 0);
    unlock_unseen(&levels);
    __tsan_mutex_post_unlock(&levels, 0);
    return given_back == 2 ? unused : (void *)1;
}

int main(void)
{
    AnnotateRWLockCreate(__FILE__, __LINE__, &annotated);
    __tsan_mutex_create(&levels, REENTRANT);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, 0);
    void *wrong = 0, *result;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &result);
        wrong = result ? result : wrong;
    }
    __tsan_mutex_destroy(&levels, 0);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &annotated);
    return wrong || kept != 2 || deep != 4;
}
