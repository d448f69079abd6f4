// Whether there is one is asked again once the lock is taken again.
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
    int missing = handler == NULL;
    pthread_mutex_unlock(&lock);
    if (missing) {
        const char *fallback = make();
        pthread_mutex_lock(&lock);
        if (!handler)
            handler = fallback;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *install(void *unused)
{
    pthread_mutex_lock(&lock);
    handler = "installed";
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
