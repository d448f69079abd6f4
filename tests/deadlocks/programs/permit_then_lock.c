/* As permit_over_lock.c, in the same order. */
#include "ticker.h"
#include <semaphore.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static sem_t permits;

static void *first(void *arg)
{
    sem_wait(&permits);
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    sem_post(&permits);
    return arg;
}

static void *second(void *arg)
{
    sem_wait(&permits);
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    sem_post(&permits);
    return arg;
}

int main(void)
{
    sem_init(&permits, 0, 1);
    run_beside(first, second);
    return 0;
}
