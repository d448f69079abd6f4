// As stale_atomic.c, by `atomic_load` of C11, which copies what it returns to the stack without optimization.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct version {
    int number;
};

static struct version *_Atomic current;

static void *update(void *argument)
{
    struct version *next = calloc(1, sizeof *next);
    next->number = 2;
    free(atomic_load(&current)); /* @free */
    atomic_store(&current, next);
    return argument;
}

static void *look(void *argument)
{
    struct version *version = atomic_load(&current); /* @use */
    return version->number > 1000 ? argument : NULL;
}

int main(void)
{
    struct version *first = calloc(1, sizeof *first);
    first->number = 1;
    atomic_store(&current, first);
    pthread_t writer, reader;
    pthread_create(&writer, NULL, update, NULL);
    pthread_create(&reader, NULL, look, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    free(atomic_load(&current));
    return 0;
}
