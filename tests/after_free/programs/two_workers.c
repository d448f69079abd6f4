// Two workers say that they are done, and one of them is waited for before their buffer is freed.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;

static void *work(void *argument)
{
    int *buffer = argument;
    pthread_mutex_lock(&lock);
    buffer[0] += 1; /* @use */
    pthread_mutex_unlock(&lock);
    sem_post(&done);
    return NULL;
}

int main(void)
{
    int *buffer = calloc(4, sizeof *buffer);
    pthread_t workers[2];
    sem_init(&done, 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, work, buffer);
    sem_wait(&done);
    pthread_mutex_lock(&lock);
    free(buffer); /* @free */
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    return 0;
}
