// A mutex is destroyed under the lock of the registry, and nobody looks whether it is still one. The memory stays.
#include <pthread.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock;
static int value;

static void *use(void *argument)
{
    pthread_mutex_lock(&registry);
    pthread_mutex_lock(&lock); /* @use */
    value++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&registry);
    return argument;
}

static void *drop(void *argument)
{
    pthread_mutex_lock(&registry);
    pthread_mutex_destroy(&lock); /* @free */
    pthread_mutex_unlock(&registry);
    return argument;
}

int main(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_t user, owner;
    pthread_create(&user, NULL, use, NULL);
    pthread_create(&owner, NULL, drop, NULL);
    pthread_join(user, NULL);
    pthread_join(owner, NULL);
    return 0;
}
