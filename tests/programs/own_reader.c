/* A thread that reads a lock never gets it for writing, whoever else reads it: its attempts fail in every schedule.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int shared;

static void *upgrades(void *unused)
{
    struct timespec past = {0, 0};
    pthread_rwlock_rdlock(&lock);
    if (pthread_rwlock_trywrlock(&lock) == 0)
        abort();
    if (pthread_rwlock_timedwrlock(&lock, &past) == 0)
        abort();
    shared = 1; /* @upgrader */
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *reads(void *unused)
{
    pthread_rwlock_rdlock(&lock);
    shared = 2; /* @reader */
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t u, r;
    pthread_create(&u, NULL, upgrades, NULL);
    pthread_create(&r, NULL, reads, NULL);
    pthread_join(u, NULL);
    pthread_join(r, NULL);
    return 0;
}
