// Who holds a pointer into an array keeps it while another thread lets the array grow.
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
    int seen = *first; /* @use */
    pthread_mutex_unlock(&lock);
    return seen ? argument : NULL;
}

static void *grow(void *argument)
{
    pthread_mutex_lock(&lock);
    numbers = realloc(numbers, 4096 * sizeof *numbers); /* @free */
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
