/* A third lock around both keeps one of the two out. */
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int count;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *first(void *arg)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    count++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&gate);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    count++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&gate);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
