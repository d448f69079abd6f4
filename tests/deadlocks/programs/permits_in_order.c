/* As permits_crossed.c, in the same order. */
#include "ticker.h"
#include <semaphore.h>

static sem_t a, b;

static void *first(void *arg)
{
    sem_wait(&a);
    sem_wait(&b);
    sem_post(&b);
    sem_post(&a);
    return arg;
}

static void *second(void *arg)
{
    sem_wait(&a);
    sem_wait(&b);
    sem_post(&b);
    sem_post(&a);
    return arg;
}

int main(void)
{
    sem_init(&a, 0, 1);
    sem_init(&b, 0, 1);
    run_beside(first, second);
    return 0;
}
