// Each operation of the map takes its lock; whoever asks first and adds then replaces what came in between.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *names[8];

static int contains(int key)
{
    pthread_mutex_lock(&lock);
    int found = names[key] != NULL; /* @first */
    pthread_mutex_unlock(&lock);
    return found;
}

static void put(int key, const char *name)
{
    pthread_mutex_lock(&lock);
    names[key] = name; /* @second @between */
    pthread_mutex_unlock(&lock);
}

static void add_if_absent(int key, const char *name)
{
    if (!contains(key))
        put(key, name);
}

static void *add_default(void *unused)
{
    add_if_absent(3, "default");
    return unused;
}

static void *configure(void *unused)
{
    put(3, "configured");
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, add_default, NULL);
    pthread_create(&second, NULL, configure, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
