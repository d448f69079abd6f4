// Stands for a C library that keeps the data of its objects elsewhere: it comes between the runtime and the real one.
#include <string.h>

#ifdef BARRIER
int pthread_barrier_init(unsigned *barrier, const void *attributes, unsigned count) {
    memset(barrier, 0, 32);
    barrier[3] = count;
    return 0;
}
#endif

#ifdef CONDITION
int pthread_cond_init(unsigned *condition, const int *attributes) {
    memset(condition, 0, 48);
    condition[10] = attributes ? *attributes : 0;
    return 0;
}
#endif

#ifdef MUTEX
int pthread_mutex_trylock(int *mutex) {
    mutex[0] = 1;
    mutex[2] = 0;
    return 0;
}
#endif

#ifdef RWLOCK
int pthread_rwlock_trywrlock(int *lock) {
    lock[0] = 0;
    lock[2] = 1;
    return 0;
}
#endif

#ifdef SEMAPHORE
int sem_init(unsigned *semaphore, int shared, unsigned count) {
    memset(semaphore, 0, 32);
    semaphore[0] = count;
    semaphore[3] = shared;
    return 0;
}
#endif

#ifdef SPIN
int pthread_spin_trylock(int *lock) {
    (void)lock;
    return 0;
}
#endif
