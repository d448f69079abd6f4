// The harmless twin of grow.c: it looks where the array is each time.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *numbers;

static void *count(void *argument)
{
    pthread_mutex_lock(&lock);
    int *first = numbers;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    first = numbers;
    int seen = *first;
    pthread_mutex_unlock(&lock);
    return seen ? argument : NULL;
}

static void *grow(void *argument)
{
    pthread_mutex_lock(&lock);
    numbers = realloc(numbers, 4096 * sizeof *numbers);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    numbers = calloc(4, sizeof *numbers);
    pthread_t counter, grower;
    pthread_create(&counter, NULL, count, NULL);
    pthread_create(&grower, NULL, grow, NULL);
    pthread_join(counter, NULL);
    pthread_join(grower, NULL);
    free(numbers);
    return 0;
}
