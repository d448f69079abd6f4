// The harmless twin of mutex_inside.c: the owner waits until the user is gone.
#include <pthread.h>
#include <stdlib.h>

struct object {
    pthread_mutex_t lock;
    int value;
};

static pthread_t user;

static void *use(void *argument)
{
    struct object *object = argument;
    pthread_mutex_lock(&object->lock);
    object->value++;
    pthread_mutex_unlock(&object->lock);
    return NULL;
}

static void *drop(void *argument)
{
    struct object *object = argument;
    pthread_join(user, NULL);
    pthread_mutex_destroy(&object->lock);
    free(object);
    return NULL;
}

int main(void)
{
    struct object *object = calloc(1, sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    pthread_t owner;
    pthread_create(&user, NULL, use, object);
    pthread_create(&owner, NULL, drop, object);
    pthread_join(owner, NULL);
    return 0;
}
