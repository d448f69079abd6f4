/* The signal may come before anybody waits, and nobody remembers it. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *waiter(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&changed, &lock); /* @waiter */
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *signaler(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, waiter, NULL);
    pthread_create(&threads[1], NULL, signaler, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL); /* @main */
    return 0;
}
