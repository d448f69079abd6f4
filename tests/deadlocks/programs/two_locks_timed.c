/* Who waits for a second at most goes on after that. */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
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
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec++;
    pthread_mutex_lock(&b);
    if (pthread_mutex_timedlock(&a, &limit) == 0) {
        count++;
        pthread_mutex_unlock(&a);
    }
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
