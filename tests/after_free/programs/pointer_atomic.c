// An atomic pointer that is cleared: who reads it follows it without a look. Without optimization, the compiler copies
// what `atomic_load` returns to the stack first.
#include <pthread.h>
#include <stdatomic.h>

struct session {
    int messages;
};

static struct session only;
static struct session *_Atomic current = &only;

static void *close_session(void *argument)
{
    atomic_store(&current, NULL); /* @clear */
    return argument;
}

static void *serve(void *argument)
{
    int messages = atomic_load(&current)->messages; /* @use */
    return messages > 1000 ? argument : NULL;
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
