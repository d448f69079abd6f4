// What stands behind a lock that succeeded is not to be had behind the lock's destruction: the lock fails there. So the
// two writes never come at once, though the lock of the registry alone would allow it.
#include <pthread.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *uses(void *argument)
{
    pthread_mutex_lock(&registry);
    if (pthread_mutex_lock(&lock) == 0) { /* @lock */
        value = 1; /* @inside */
        pthread_mutex_unlock(&lock); /* @unlock */
    }
    pthread_mutex_unlock(&registry);
    return argument;
}

static void *destroys(void *argument)
{
    pthread_mutex_lock(&registry);
    pthread_mutex_destroy(&lock); /* @destroy */
    pthread_mutex_unlock(&registry);
    value = 2; /* @behind */
    return argument;
}

int main(void)
{
    pthread_t user, owner;
    pthread_create(&user, NULL, uses, NULL);
    pthread_create(&owner, NULL, destroys, NULL);
    pthread_join(user, NULL);
    pthread_join(owner, NULL);
    return 0;
}
