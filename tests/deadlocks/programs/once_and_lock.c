/* An initialization takes a lock under which another thread waits for the initialization. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialize(void)
{
    pthread_mutex_lock(&lock); /* @first */
    pthread_mutex_unlock(&lock);
}

static void *first(void *arg)
{
    pthread_once(&once, initialize);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_once(&once, initialize); /* @second */
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL); /* @main */
    return 0;
}
