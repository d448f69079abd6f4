// As unlocked_by_other.c, but the lock is given back once the other thread has written: a false alarm of lock sets.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t written;
static int session;

static void *serve(void *unused)
{
    pthread_mutex_lock(&lock);
    session = 1; /* @write */
    sem_post(&written);
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&written, 0, 0);
    session = 0;
    pthread_create(&thread, NULL, serve, NULL);
    sem_wait(&written);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    session = 2; /* @read */
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
