// As cancelled.c, but main writes before it joins.
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
    closed = 2; /* @read */
    pthread_join(thread, NULL);
    return 0;
}
