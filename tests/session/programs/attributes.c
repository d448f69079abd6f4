/* An attribute object that one thread sets while another one uses it, and a semaphore that is nearly full. */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>

static pthread_mutexattr_t shared;
static sem_t full;

static void *sets(void *unused)
{
    pthread_mutexattr_settype(&shared, PTHREAD_MUTEX_RECURSIVE);
    sem_post(&full);
    return unused;
}

static void *makes(void *unused)
{
    pthread_mutexattr_t own;
    pthread_mutexattr_init(&own);
    pthread_mutex_t of_shared, of_own, of_none;
    pthread_mutex_init(&of_shared, &shared);
    pthread_mutex_init(&of_own, &own);
    pthread_mutex_init(&of_none, NULL);
    sem_post(&full);
    return unused;
}

int main(void)
{
    sem_init(&full, 0, SEM_VALUE_MAX - 1);
    pthread_t t, u;
    pthread_create(&t, NULL, sets, NULL);
    pthread_create(&u, NULL, makes, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
