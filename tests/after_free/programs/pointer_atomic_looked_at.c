// The harmless twin of pointer_atomic.c: who finds no session serves none.
#include <pthread.h>
#include <stdatomic.h>

struct session {
    int messages;
};

static struct session only;
static struct session *_Atomic current = &only;

static void *close_session(void *argument)
{
    atomic_store(&current, NULL);
    return argument;
}

static void *serve(void *argument)
{
    struct session *session = atomic_load(&current);
    if (!session)
        return NULL;
    return session->messages > 1000 ? argument : NULL;
}

int main(void)
{
    pthread_t closer, server;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&closer, NULL, close_session, NULL);
    pthread_join(server, NULL);
    pthread_join(closer, NULL);
    return 0;
}
