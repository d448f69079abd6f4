// A data race, two locks that are taken in both orders, and a session that is freed before it is used.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static int *session;
static int served, closed, calls;

static void *serve(void *unused)
{
    calls++; /* @race */
    pthread_mutex_lock(&first);
    *session = 1; /* @use */
    pthread_mutex_lock(&second);
    served++;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return unused;
}

static void *close_all(void *unused)
{
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    closed++;
    free(session); /* @free */
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    calls++; /* @race_too */
    return unused;
}

int main(void)
{
    pthread_t server, closer;
    session = malloc(sizeof *session);
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&closer, NULL, close_all, NULL);
    pthread_join(server, NULL);
    pthread_join(closer, NULL);
    return 0;
}
