/* A counted object is replaced while another thread takes a reference to it: some runs use what is freed, and race. */
#include <pthread.h>
#include <stdlib.h>

struct object {
    int references, value;
};

static struct object *current;

static struct object *made(int value)
{
    struct object *object = malloc(sizeof *object);
    object->references = 1;
    object->value = value;
    return object;
}

static void drop(struct object *object)
{
    if (object && __atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(object);
}

static void *replaces(void *unused)
{
    struct object *object = made(2), *before = current;
    current = object;
    drop(before);
    return unused;
}

static void *reads(void *unused)
{
    struct object *object = current;
    __atomic_add_fetch(&object->references, 1, __ATOMIC_RELAXED);
    int value = object->value;
    drop(object);
    return value ? unused : NULL;
}

int main(void)
{
    pthread_t threads[2];
    current = made(1);
    pthread_create(&threads[0], NULL, replaces, NULL);
    pthread_create(&threads[1], NULL, reads, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    drop(current);
    return 0;
}
