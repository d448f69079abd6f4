/* As join_under_permit.c, but the main thread gives the permit back first. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t permit;

static void *worker(void *arg)
{
    sem_wait(&permit);
    sem_post(&permit);
    return arg;
}

int main(void)
{
    pthread_t thread;
    sem_init(&permit, 0, 1);
    pthread_create(&thread, NULL, worker, NULL);
    usleep(1000);
    sem_wait(&permit);
    sem_post(&permit);
    pthread_join(thread, NULL);
    return 0;
}
