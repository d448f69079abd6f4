// A mutex lies in the object that it guards. Who finds itself alone there frees both, and another may be about to lock.
#include <pthread.h>
#include <stdlib.h>

struct object {
    pthread_mutex_t lock;
    int value;
};

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;

static void *use(void *argument)
{
    struct object *object = argument;
    pthread_mutex_lock(&registry);
    pthread_mutex_lock(&object->lock); /* @use */
    object->value++;
    pthread_mutex_unlock(&object->lock);
    pthread_mutex_unlock(&registry);
    return NULL;
}

static void *drop(void *argument)
{
    struct object *object = argument;
    pthread_mutex_lock(&registry);
    pthread_mutex_destroy(&object->lock);
    free(object); /* @free */
    pthread_mutex_unlock(&registry);
    return NULL;
}

int main(void)
{
    struct object *object = calloc(1, sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    pthread_t user, owner;
    pthread_create(&user, NULL, use, object);
    pthread_create(&owner, NULL, drop, object);
    pthread_join(user, NULL);
    pthread_join(owner, NULL);
    return 0;
}
