// Whoever finds the queue closed destroys its condition under the lock; the other thread still signals it there.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int length;

static void *put(void *argument)
{
    pthread_mutex_lock(&lock);
    length++;
    pthread_cond_signal(&changed); /* @use */
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *close_queue(void *argument)
{
    pthread_mutex_lock(&lock);
    pthread_cond_destroy(&changed); /* @free */
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    pthread_cond_init(&changed, NULL);
    pthread_t putter, closer;
    pthread_create(&putter, NULL, put, NULL);
    pthread_create(&closer, NULL, close_queue, NULL);
    pthread_join(putter, NULL);
    pthread_join(closer, NULL);
    return 0;
}
