/* A thread waits for a post under a lock that the poster needs first. */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;

static void *first(void *arg)
{
    pthread_mutex_lock(&lock);
    sem_wait(&done); /* @first */
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&lock); /* @second */
    pthread_mutex_unlock(&lock);
    sem_post(&done);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    sem_init(&done, 0, 0);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL); /* @main */
    return 0;
}
