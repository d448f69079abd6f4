/* The second thread signals before the first one waits, and nobody remembers that. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one = PTHREAD_COND_INITIALIZER, other = PTHREAD_COND_INITIALIZER;

static void *first(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&one, &lock); /* @first */
    pthread_cond_signal(&other);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&one);
    pthread_cond_wait(&other, &lock); /* @second */
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
