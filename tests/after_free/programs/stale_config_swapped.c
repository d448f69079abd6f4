// The harmless twin of stale_config.c: the new configuration is set before the old one is freed, in one section.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config {
    int port;
} *config;

static void *serve(void *argument)
{
    pthread_mutex_lock(&lock);
    int port = config->port;
    pthread_mutex_unlock(&lock);
    return port > 1000 ? argument : NULL;
}

static void *reload(void *argument)
{
    struct config *next = calloc(1, sizeof *next);
    next->port = 80;
    pthread_mutex_lock(&lock);
    struct config *old = config;
    config = next;
    free(old);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    config = calloc(1, sizeof *config);
    pthread_t server, reloader;
    pthread_create(&reloader, NULL, reload, NULL);
    pthread_create(&server, NULL, serve, NULL);
    pthread_join(server, NULL);
    pthread_join(reloader, NULL);
    free(config);
    return 0;
}
