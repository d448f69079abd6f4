// The harmless twin of mutex_destroyed.c: the registry says whether the mutex is there.
#include <pthread.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock;
static int is_there;
static int value;

static void *use(void *argument)
{
    pthread_mutex_lock(&registry);
    if (is_there) {
        pthread_mutex_lock(&lock);
        value++;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&registry);
    return argument;
}

static void *drop(void *argument)
{
    pthread_mutex_lock(&registry);
    is_there = 0;
    pthread_mutex_destroy(&lock);
    pthread_mutex_unlock(&registry);
    return argument;
}

int main(void)
{
    pthread_mutex_init(&lock, NULL);
    is_there = 1;
    pthread_t user, owner;
    pthread_create(&user, NULL, use, NULL);
    pthread_create(&owner, NULL, drop, NULL);
    pthread_join(user, NULL);
    pthread_join(owner, NULL);
    return 0;
}
