// A session is freed under the lock that guards it, but nobody looks whether it is still there.
#include <pthread.h>
#include <stdlib.h>

struct session {
    int messages;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *argument)
{
    struct session *session = argument;
    pthread_mutex_lock(&lock);
    session->messages++; /* @use */
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *hang_up(void *argument)
{
    pthread_mutex_lock(&lock);
    free(argument); /* @free */
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    struct session *session = calloc(1, sizeof *session);
    pthread_t server, closer;
    pthread_create(&server, NULL, serve, session);
    pthread_create(&closer, NULL, hang_up, session);
    pthread_join(server, NULL);
    pthread_join(closer, NULL);
    return 0;
}
