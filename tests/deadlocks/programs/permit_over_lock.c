/* A permit that serves as a lock, and a lock, in opposite order. */
#include "ticker.h"
#include <semaphore.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static sem_t permits;

static void *first(void *arg)
{
    sem_wait(&permits);
    pthread_mutex_lock(&outer); /* @first */
    pthread_mutex_unlock(&outer);
    sem_post(&permits);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&outer);
    sem_wait(&permits); /* @second */
    sem_post(&permits);
    pthread_mutex_unlock(&outer);
    return arg;
}

int main(void)
{
    sem_init(&permits, 0, 1);
    run_beside(first, second);
    return 0;
}
