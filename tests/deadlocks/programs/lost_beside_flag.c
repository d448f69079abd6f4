/* As lost_beside.c, but a flag says that the signal has come. */
#include "ticker.h"

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_changed;

static void *first(void *arg)
{
    pthread_mutex_lock(&inner);
    while (!is_changed)
        pthread_cond_wait(&changed, &inner);
    pthread_mutex_unlock(&inner);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&inner);
    is_changed = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&inner);
    return arg;
}

int main(void)
{
    pthread_t ticker, threads[2];
    pthread_create(&ticker, NULL, tick, NULL);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    atomic_store(&stop, 1);
    pthread_join(ticker, NULL);
    return 0;
}
