// A thread is cancelled, writes in its cleanup handler, and is joined before main writes: a false alarm of lock sets.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int closed;

static void clean_up(void *unused)
{
    (void)unused;
    closed = 1; /* @write */
}

static void *serve(void *unused)
{
    pthread_cleanup_push(clean_up, NULL);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return unused;
}

int main(void)
{
    pthread_t thread;
    closed = 0;
    pthread_create(&thread, NULL, serve, NULL);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    closed = 2; /* @read */
    return 0;
}
