// As signalled.c, but the item is written behind the signal.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int ready;
static int item;

static void *produce(void *unused)
{
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    item = 7; /* @write */
    return unused;
}

int main(void)
{
    pthread_t thread;
    item = 1;
    pthread_create(&thread, NULL, produce, NULL);
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&filled, &lock);
    pthread_mutex_unlock(&lock);
    item++; /* @read */
    pthread_join(thread, NULL);
    return 0;
}
