/* A lock that another thread gives back than the one that took it. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t taken;
static int data;

static void *gives_back(void *arg) {
    sem_wait(&taken);
    data++;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *takes(void *arg) {
    pthread_mutex_lock(&lock);
    data++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t threads[2];
    sem_init(&taken, 0, 0);
    pthread_create(&threads[0], NULL, gives_back, NULL);
    pthread_mutex_lock(&lock);
    data++;
    pthread_create(&threads[1], NULL, takes, NULL);
    sem_post(&taken);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (data != 3)
        abort();
    return 0;
}
