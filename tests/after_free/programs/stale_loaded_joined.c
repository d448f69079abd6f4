// The harmless twin of stale_loaded.c: the writer waits for the reader before it frees what that may have found.
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
    struct version *old = atomic_exchange(&current, next);
    pthread_join(*(pthread_t *)argument, NULL);
    free(old);
    return NULL;
}

static void *look(void *argument)
{
    struct version *version = atomic_load(&current);
    return version->number > 1000 ? argument : NULL;
}

int main(void)
{
    struct version *first = calloc(1, sizeof *first);
    first->number = 1;
    atomic_store(&current, first);
    pthread_t writer, reader;
    pthread_create(&reader, NULL, look, NULL);
    pthread_create(&writer, NULL, update, &reader);
    pthread_join(writer, NULL);
    free(atomic_load(&current));
    return 0;
}
