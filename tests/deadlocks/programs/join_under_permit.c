/* The main thread takes the only permit, and joins a thread that needs it, before it gives it back. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t permit;

static void *worker(void *arg)
{
    sem_wait(&permit); /* @worker */
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
    pthread_join(thread, NULL); /* @main */
    sem_post(&permit);
    return 0;
}
