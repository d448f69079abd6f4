// The harmless twin of session.c: whoever gives back the last reference frees it.
#include <pthread.h>
#include <stdlib.h>

struct session {
    int references;
    int messages;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *argument)
{
    struct session *session = argument;
    pthread_mutex_lock(&lock);
    session->messages++;
    int left = --session->references;
    pthread_mutex_unlock(&lock);
    if (left == 0)
        free(session);
    return NULL;
}

int main(void)
{
    struct session *session = calloc(1, sizeof *session);
    session->references = 2;
    pthread_t servers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&servers[i], NULL, serve, session);
    for (int i = 0; i < 2; i++)
        pthread_join(servers[i], NULL);
    return 0;
}
