/* As semaphores.c, with a permit for each thread. */
#include <pthread.h>
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
    sem_wait(&b);
    sem_wait(&a);
    sem_post(&a);
    sem_post(&b);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    sem_init(&a, 0, 2);
    sem_init(&b, 0, 1);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
