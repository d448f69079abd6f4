/* Locks that are not used as POSIX wants: given back by who does not hold them, tried by who does.
 *
 * What such calls return, this program does not depend on; its locks order nothing that they do not exclude, and its trace is
 * an execution all the same.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, checking;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER, other = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int counter, guarded, read_guarded;

static struct timespec now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

/* Takes each lock when it has it already. */
static void try_own(void)
{
    struct timespec deadline = now();
    pthread_mutex_lock(&mutex);
    pthread_mutex_trylock(&mutex);
    pthread_mutex_timedlock(&mutex, &deadline);
    guarded++; /* @guarded */
    pthread_mutex_unlock(&mutex);

    pthread_mutex_lock(&checking);
    pthread_mutex_lock(&checking);
    pthread_mutex_trylock(&checking);
    pthread_mutex_unlock(&checking);

    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_tryrdlock(&rwlock);
    pthread_rwlock_trywrlock(&rwlock);
    pthread_rwlock_timedwrlock(&rwlock, &deadline);
    pthread_rwlock_unlock(&rwlock);

    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_trywrlock(&rwlock);
    pthread_rwlock_timedwrlock(&rwlock, &deadline);
    (void)*(volatile int *)&read_guarded; /* @read_guarded */
    pthread_rwlock_unlock(&rwlock);

    pthread_spin_lock(&spin);
    pthread_spin_trylock(&spin);
    pthread_spin_unlock(&spin);
}

/* Gives back what nobody has. */
static void give_back(void)
{
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&checking);
    pthread_rwlock_unlock(&other);
    pthread_spin_unlock(&spin);
}

static void *work(void *unused)
{
    counter = 1; /* @count */
    try_own();
    pthread_rwlock_wrlock(&rwlock);
    read_guarded = 1; /* @write_guarded */
    pthread_rwlock_unlock(&rwlock);
    return unused;
}

int main(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checking, &kind);
    pthread_spin_init(&spin, 0);
    give_back();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    give_back();
    try_own();
    return 0;
}
