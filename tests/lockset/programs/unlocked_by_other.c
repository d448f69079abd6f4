// A thread gives back the lock of another one, which is still within its section, and takes it itself: both write under
// the lock, at the same time.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t locked;
static int session;

static void *serve(void *unused)
{
    pthread_mutex_lock(&lock);
    sem_post(&locked);
    session = 1; /* @write */
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&locked, 0, 0);
    session = 0;
    pthread_create(&thread, NULL, serve, NULL);
    sem_wait(&locked);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    session = 2; /* @read */
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
