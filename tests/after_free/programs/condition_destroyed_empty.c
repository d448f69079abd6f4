// The harmless twin of condition_destroyed.c: the queue is closed only behind what was put there.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int length;

static void *put(void *argument)
{
    pthread_mutex_lock(&lock);
    length++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *close_queue(void *argument)
{
    pthread_mutex_lock(&lock);
    while (length == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&changed);
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
