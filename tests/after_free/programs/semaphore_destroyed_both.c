// The harmless twin of semaphore_destroyed.c: both workers are waited for.
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;

static void *work(void *argument)
{
    pthread_mutex_lock(&lock);
    sem_post(&done);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    pthread_t workers[2];
    sem_init(&done, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        sem_wait(&done);
    pthread_mutex_lock(&lock);
    sem_destroy(&done);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
