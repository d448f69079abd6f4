// The harmless twin of instance.c: whoever comes first makes the instance.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int *instance;

static void make(void)
{
    int *made = malloc(sizeof *made);
    *made = 5;
    pthread_mutex_lock(&lock);
    instance = made;
    pthread_mutex_unlock(&lock);
}

static void *first(void *unused)
{
    pthread_once(&once, make);
    return unused;
}

static void *second(void *unused)
{
    pthread_once(&once, make);
    pthread_mutex_lock(&lock);
    int value = *instance;
    pthread_mutex_unlock(&lock);
    return value > 1000 ? unused : NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&other, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
