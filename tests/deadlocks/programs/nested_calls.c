/* A callback is called with a lock held, and takes another one that its caller's caller elsewhere holds. */
#include <pthread.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER, item_lock = PTHREAD_MUTEX_INITIALIZER;
static int items, changes;

static void on_change(void)
{
    pthread_mutex_lock(&list_lock); /* @inner */
    items++;
    pthread_mutex_unlock(&list_lock);
}

static void *change(void *arg)
{
    pthread_mutex_lock(&item_lock);
    changes++;
    on_change();
    pthread_mutex_unlock(&item_lock);
    return arg;
}

static void *walk(void *arg)
{
    pthread_mutex_lock(&list_lock);
    pthread_mutex_lock(&item_lock); /* @outer */
    pthread_mutex_unlock(&item_lock);
    pthread_mutex_unlock(&list_lock);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, change, NULL);
    pthread_create(&threads[1], NULL, walk, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
