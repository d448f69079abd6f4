// Who counts down to 0 destroys it.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int references = 2;
static _Atomic int destroyed;

static void destroy(void)
{
    destroyed++;
}

static void *drop(void *unused)
{
    pthread_mutex_lock(&lock);
    int left = --references;
    pthread_mutex_unlock(&lock);
    if (left == 0)
        destroy();
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, drop, NULL);
    pthread_create(&second, NULL, drop, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
