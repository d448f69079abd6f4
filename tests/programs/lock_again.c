/* A lock that the program sets again, by an assignment, is free, though a thread that has ended still held it.
 *
 * Each kind of lock that a constant initializes.
 */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int shared, other;

static void *leaves(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    return unused;
}

static void *works(void *unused)
{
    pthread_mutex_lock(&mutex);
    shared++; /* @shared */
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    other++; /* @other */
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, leaves, NULL);
    pthread_join(a, NULL);
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    rwlock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    pthread_create(&a, NULL, works, NULL);
    pthread_create(&b, NULL, works, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
