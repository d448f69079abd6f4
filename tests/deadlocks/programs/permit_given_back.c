/* As permit_kept.c, but the permit is given back. */
#include "ticker.h"
#include <semaphore.h>

static sem_t permits;

static void *first(void *arg)
{
    sem_wait(&permits);
    sem_post(&permits);
    return arg;
}

static void *second(void *arg)
{
    sem_wait(&permits);
    sem_post(&permits);
    return arg;
}

int main(void)
{
    sem_init(&permits, 0, 1);
    run_beside(first, second);
    return 0;
}
