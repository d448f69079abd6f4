// An array that grows is copied and freed in one critical section, and found at its new place only from the next one on.
#include <pthread.h>
#include <stdlib.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int *numbers;

static void *grow(void *argument)
{
    pthread_rwlock_wrlock(&lock);
    int *larger = realloc(numbers, 4096 * sizeof *numbers); /* @free */
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_wrlock(&lock);
    numbers = larger;
    pthread_rwlock_unlock(&lock);
    return argument;
}

static void *count(void *argument)
{
    pthread_rwlock_rdlock(&lock);
    int first = *numbers; /* @use */
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
