/* As semaphores.c, but one of the threads gives up after a while. */
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

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
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 1;
    sem_wait(&b);
    if (sem_timedwait(&a, &limit) == 0)
        sem_post(&a);
    sem_post(&b);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    sem_init(&a, 0, 1);
    sem_init(&b, 0, 1);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
