// The harmless twin of stale_atomic.c: the writer waits for the reader before it frees what that may have found.
#include <pthread.h>
#include <stdlib.h>

struct version {
    int number;
};

static struct version *current;

static void *update(void *argument)
{
    struct version *next = calloc(1, sizeof *next);
    next->number = 2;
    struct version *old = __atomic_exchange_n(&current, next, __ATOMIC_SEQ_CST);
    pthread_join(*(pthread_t *)argument, NULL);
    free(old);
    return NULL;
}

static void *look(void *argument)
{
    struct version *version = __atomic_load_n(&current, __ATOMIC_SEQ_CST);
    return version->number > 1000 ? argument : NULL;
}

int main(void)
{
    struct version *first = calloc(1, sizeof *first);
    first->number = 1;
    __atomic_store_n(&current, first, __ATOMIC_SEQ_CST);
    pthread_t writer, reader;
    pthread_create(&reader, NULL, look, NULL);
    pthread_create(&writer, NULL, update, &reader);
    pthread_join(writer, NULL);
    free(__atomic_load_n(&current, __ATOMIC_SEQ_CST));
    return 0;
}
