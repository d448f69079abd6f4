/* One level more of a lock that the thread has is no wait; the other lock is. */
#define _GNU_SOURCE
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, b = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int count;

static void *first(void *arg)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); /* @first */
    pthread_mutex_lock(&a);
    count++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); /* @second */
    count++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
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
