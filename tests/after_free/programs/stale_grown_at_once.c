// The harmless twin of stale_grown.c: it is found at its new place in the section in which it is freed.
#include <pthread.h>
#include <stdlib.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int *numbers;

static void *grow(void *argument)
{
    pthread_rwlock_wrlock(&lock);
    numbers = realloc(numbers, 4096 * sizeof *numbers);
    pthread_rwlock_unlock(&lock);
    return argument;
}

static void *count(void *argument)
{
    pthread_rwlock_rdlock(&lock);
    int first = *numbers;
    pthread_rwlock_unlock(&lock);
    return first ? argument : NULL;
}

int main(void)
{
    numbers = calloc(4, sizeof *numbers);
    pthread_t grower, counter;
    pthread_create(&grower, NULL, grow, NULL);
    pthread_create(&counter, NULL, count, NULL);
    pthread_join(grower, NULL);
    pthread_join(counter, NULL);
    free(numbers);
    return 0;
}
