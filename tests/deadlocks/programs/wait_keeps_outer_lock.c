/* A wait gives up one lock and keeps another; its end needs the first one again. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *waiter(void *arg)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    while (!ready)
        pthread_cond_wait(&changed, &inner); /* @waiter */
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return arg;
}

static void *signaler(void *arg)
{
    pthread_mutex_lock(&inner);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&inner);
    usleep(1000);
    pthread_mutex_lock(&inner);
    pthread_mutex_lock(&outer); /* @signaler */
    pthread_mutex_unlock(&outer);
    pthread_mutex_unlock(&inner);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, waiter, NULL);
    pthread_create(&threads[1], NULL, signaler, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
