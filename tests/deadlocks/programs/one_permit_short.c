/* Two threads need two permits each, and take them one by one. */
#include <pthread.h>
#include <semaphore.h>

static sem_t permits;

static void *first(void *arg)
{
    sem_wait(&permits);
    sem_wait(&permits); /* @first */
    sem_post(&permits);
    sem_post(&permits);
    return arg;
}

static void *second(void *arg)
{
    sem_wait(&permits);
    sem_wait(&permits); /* @second */
    sem_post(&permits);
    sem_post(&permits);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    sem_init(&permits, 0, 2);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL); /* @main */
    return 0;
}
