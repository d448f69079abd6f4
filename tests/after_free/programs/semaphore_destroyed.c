// Two workers post a semaphore under a lock. Whoever waits for one of them destroys the semaphore, and the other posts.
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;

static void *work(void *argument)
{
    pthread_mutex_lock(&lock);
    sem_post(&done); /* @use */
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    pthread_t workers[2];
    sem_init(&done, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    sem_wait(&done);
    pthread_mutex_lock(&lock);
    sem_destroy(&done); /* @free */
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
