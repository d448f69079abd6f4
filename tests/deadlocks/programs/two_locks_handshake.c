/* The second thread begins with its locks when the first one is done with them. */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int count;
static sem_t done;

static void *first(void *arg)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    count++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    sem_post(&done);
    return arg;
}

static void *second(void *arg)
{
    sem_wait(&done);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    count++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    sem_init(&done, 0, 0);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
