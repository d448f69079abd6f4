// A pointer without locks: the writer frees what readers may still find there, and exchanges it only then.
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
    free(__atomic_load_n(&current, __ATOMIC_SEQ_CST)); /* @free */
    __atomic_store_n(&current, next, __ATOMIC_SEQ_CST);
    return argument;
}

static void *look(void *argument)
{
    struct version *version = __atomic_load_n(&current, __ATOMIC_SEQ_CST); /* @use */
    return version->number > 1000 ? argument : NULL;
}

int main(void)
{
    struct version *first = calloc(1, sizeof *first);
    first->number = 1;
    __atomic_store_n(&current, first, __ATOMIC_SEQ_CST);
    pthread_t writer, reader;
    pthread_create(&writer, NULL, update, NULL);
    pthread_create(&reader, NULL, look, NULL);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    free(__atomic_load_n(&current, __ATOMIC_SEQ_CST));
    return 0;
}
