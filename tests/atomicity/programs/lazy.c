// Whether there is one is asked under the lock, and the fallback, once it is made, stored under the lock.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *handler;

static const char *make(void)
{
    return "fallback";
}

static void *use(void *unused)
{
    pthread_mutex_lock(&lock);
    int missing = handler == NULL; /* @first */
    pthread_mutex_unlock(&lock);
    if (missing) {
        const char *fallback = make();
        pthread_mutex_lock(&lock);
        handler = fallback; /* @second */
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *install(void *unused)
{
    pthread_mutex_lock(&lock);
    handler = "installed"; /* @between */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, use, NULL);
    pthread_create(&second, NULL, install, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
