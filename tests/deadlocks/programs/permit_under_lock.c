/* A wait for a post, under a lock that who posts takes first. */
#include "ticker.h"
#include <unistd.h>
#include <semaphore.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static sem_t permits;

static void *first(void *arg)
{
    usleep(1000);
    pthread_mutex_lock(&outer);
    sem_wait(&permits); /* @first */
    pthread_mutex_unlock(&outer);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&outer); /* @second */
    pthread_mutex_unlock(&outer);
    sem_post(&permits);
    return arg;
}

int main(void)
{
    sem_init(&permits, 0, 0);
    run_beside(first, second);
    return 0;
}
