// The harmless twin of config.c: the configuration is there before anybody is started who uses it.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *config;

static void *serve(void *unused)
{
    pthread_mutex_lock(&lock);
    int value = *config; /* @early */
    pthread_mutex_unlock(&lock);
    return value == 42 ? unused : NULL;
}

static void *setup(void *unused)
{
    int *made = malloc(sizeof *made);
    *made = 42;
    pthread_mutex_lock(&lock);
    config = made; /* @first */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, setup, NULL);
    pthread_join(one, NULL);
    pthread_create(&other, NULL, serve, NULL);
    pthread_join(other, NULL);
    return 0;
}
