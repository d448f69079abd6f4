// Reloading frees the old configuration in one critical section, and sets the new one in the next. In between, the
// pointer is to what was freed.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config {
    int port;
} *config;

static void *serve(void *argument)
{
    pthread_mutex_lock(&lock);
    int port = config->port; /* @use */
    pthread_mutex_unlock(&lock);
    return port > 1000 ? argument : NULL;
}

static void *reload(void *argument)
{
    struct config *next = calloc(1, sizeof *next);
    next->port = 80;
    pthread_mutex_lock(&lock);
    free(config); /* @free */
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    config = next;
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
