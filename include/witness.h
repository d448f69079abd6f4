/* Critical sections and atomic regions that a program names itself, for `witness record`. Needs nothing
 * but a compiler and POSIX threads: without the recorder the annotations do nothing, and the atomic
 * sections are a mutex.
 */
#ifndef WITNESS_H
#define WITNESS_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ThreadSanitizer's own interface, which the recorder understands. */
__attribute__((weak)) void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);
__attribute__((weak)) int __tsan_mutex_pre_unlock(void *lock, unsigned flags);

/* What lies between the two, in one thread, excludes what lies between those of the same lock in
 * another. The first comes after the program has taken its lock, the second before it gives it back.
 * The lock is any address that stands for it. */
#define WITNESS_ACQUIRED(lock)                              \
    do {                                                    \
        if (__tsan_mutex_post_lock)                         \
            __tsan_mutex_post_lock((void *)(lock), 0, 0);   \
    } while (0)
#define WITNESS_RELEASING(lock)                             \
    do {                                                    \
        if (__tsan_mutex_pre_unlock)                        \
            __tsan_mutex_pre_unlock((void *)(lock), 0);     \
    } while (0)

/* What lies between the two, in one thread, is meant to be atomic: nothing that another thread does there
 * may change what comes of it. Nothing sees to that; `witness analyze --find atomicity` asks whether it
 * holds. Regions may lie within each other; the name is a string, for reports. */
__attribute__((weak)) void __witness_atomic_begin(const char *name);
__attribute__((weak)) void __witness_atomic_end(void);

#define WITNESS_ATOMIC_BEGIN(name)            \
    do {                                      \
        if (__witness_atomic_begin)           \
            __witness_atomic_begin(name);     \
    } while (0)
#define WITNESS_ATOMIC_END()                  \
    do {                                      \
        if (__witness_atomic_end)             \
            __witness_atomic_end();           \
    } while (0)

/* Atomic sections, as the verification competitions (SV-COMP) have them: one lock for the program. */
__attribute__((weak)) pthread_mutex_t witness_atomic_section = PTHREAD_MUTEX_INITIALIZER;

__attribute__((weak)) void __VERIFIER_atomic_begin(void)
{
    pthread_mutex_lock(&witness_atomic_section);
}

__attribute__((weak)) void __VERIFIER_atomic_end(void)
{
    pthread_mutex_unlock(&witness_atomic_section);
}

#ifdef __cplusplus
}
#endif

#endif
