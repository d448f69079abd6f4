/* A lock of the program's own, whose announcements contradict each other: one thread announces that it gives the lock
 * back when another has it already, and a third one takes it as a reader while it has it alone.
 *
 * `kept` is what the lock keeps, and no two threads are ever at it. `other` is no lock's, and is the race.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

extern void AnnotateRWLockAcquired(const char *, int, const volatile void *, long);
extern void AnnotateRWLockReleased(const char *, int, const volatile void *, long);

static int lock, kept, other;
static sem_t free_again, taken, announced;

static void take(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void give_back(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void *late(void *unused)
{
    take();
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    kept++; /* @first */
    give_back();
    sem_post(&free_again);
    sem_wait(&taken);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
    sem_post(&announced);
    other++; /* @other */
    return unused;
}

static void *next(void *unused)
{
    sem_wait(&free_again);
    take();
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    sem_post(&taken);
    sem_wait(&announced);
    kept++; /* @second */
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
    give_back();
    return unused;
}

static void *twice(void *unused)
{
    take();
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &lock, 0);
    kept++; /* @third */
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 0);
    AnnotateRWLockReleased(__FILE__, __LINE__, &lock, 1);
    give_back();
    other++; /* @other_too */
    return unused;
}

int main(void)
{
    sem_init(&free_again, 0, 0);
    sem_init(&taken, 0, 0);
    sem_init(&announced, 0, 0);
    pthread_t threads[3];
    pthread_create(&threads[0], 0, late, 0);
    pthread_create(&threads[1], 0, next, 0);
    pthread_create(&threads[2], 0, twice, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return kept != 3;
}
