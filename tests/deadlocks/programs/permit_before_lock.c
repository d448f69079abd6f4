/* As permit_under_lock.c, but who posts does so before it takes the lock. */
#include "ticker.h"
#include <semaphore.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static sem_t permits;

static void *first(void *arg)
{
    pthread_mutex_lock(&outer);
    sem_wait(&permits);
    pthread_mutex_unlock(&outer);
    return arg;
}

static void *second(void *arg)
{
    sem_post(&permits);
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    return arg;
}

int main(void)
{
    sem_init(&permits, 0, 0);
    run_beside(first, second);
    return 0;
}
