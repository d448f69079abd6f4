/* All threads take the locks in one order. */
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER,
                       c = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *first(void *arg)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    count++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&c);
    count++;
    pthread_mutex_unlock(&c);
    pthread_mutex_unlock(&b);
    return arg;
}

static void *third(void *arg)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&c);
    count++;
    pthread_mutex_unlock(&c);
    pthread_mutex_unlock(&a);
    return arg;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_create(&threads[2], NULL, third, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
