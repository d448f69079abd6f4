/* What threads wait for in GLib when nobody can go on: a mutex, an item of a queue. */
#include <glib.h>

static GMutex first;
static GAsyncQueue *queue;

static gpointer pop(gpointer unused)
{
    g_mutex_lock(&first);
    return g_async_queue_pop(queue);
}

int main(void)
{
    queue = g_async_queue_new();
    GThread *thread = g_thread_new("pop", pop, NULL);
    while (g_mutex_trylock(&first)) {
        g_mutex_unlock(&first);
        g_thread_yield();
    }
    g_mutex_lock(&first);
    g_thread_join(thread);
    return 0;
}
