// Whoever asks first and adds then, and whoever adds, holds another lock meanwhile.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static const char *names[8];

static int contains(int key)
{
    pthread_mutex_lock(&lock);
    int found = names[key] != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static void put(int key, const char *name)
{
    pthread_mutex_lock(&lock);
    names[key] = name;
    pthread_mutex_unlock(&lock);
}

static void add_if_absent(int key, const char *name)
{
    pthread_mutex_lock(&gate);
    if (!contains(key))
        put(key, name);
    pthread_mutex_unlock(&gate);
}

static void *add_default(void *unused)
{
    add_if_absent(3, "default");
    return unused;
}

static void *configure(void *unused)
{
    pthread_mutex_lock(&gate);
    put(3, "configured");
    pthread_mutex_unlock(&gate);
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
