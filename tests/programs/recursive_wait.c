/* A recursive mutex that is held twice stays held while its owner waits for a condition: the C library gives back one
 * level (POSIX warns of it). So nobody can take and free what the owner uses behind its wait.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int *published;
static int after;

static void *owner(void *unused)
{
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec = (soon.tv_nsec + 20000000) % 1000000000;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    int *block = malloc(sizeof *block);
    published = block;
    pthread_cond_timedwait(&condition, &lock, &soon);
    *block = 1; /* @uses */
    pthread_mutex_unlock(&lock);
    /* With one level, the wait gives the mutex back. */
    pthread_cond_timedwait(&condition, &lock, &soon);
    pthread_mutex_unlock(&lock);
    after = 1; /* @released */
    return unused;
}

static void *taker(void *unused)
{
    pthread_mutex_lock(&lock);
    int *block = published;
    published = NULL;
    after = 2; /* @other */
    pthread_mutex_unlock(&lock);
    free(block); /* @frees */
    return unused;
}

int main(void)
{
    pthread_t o, t;
    pthread_create(&o, NULL, owner, NULL);
    pthread_create(&t, NULL, taker, NULL);
    pthread_join(o, NULL);
    pthread_join(t, NULL);
    return 0;
}
