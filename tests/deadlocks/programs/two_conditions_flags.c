/* As two_conditions.c, with a flag for each signal. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one = PTHREAD_COND_INITIALIZER, other = PTHREAD_COND_INITIALIZER;
static int first_told, second_told;

static void *first(void *arg)
{
    pthread_mutex_lock(&lock);
    while (!first_told)
        pthread_cond_wait(&one, &lock);
    second_told = 1;
    pthread_cond_signal(&other);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&lock);
    first_told = 1;
    pthread_cond_signal(&one);
    while (!second_told)
        pthread_cond_wait(&other, &lock);
    pthread_mutex_unlock(&lock);
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
