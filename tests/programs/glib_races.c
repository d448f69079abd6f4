/* What GLib does not order: the same functions, used so that something is left out. */
#include <glib.h>

static GMutex one, other;
static GAsyncQueue *queue;
static int mixed, late, hits;

static gpointer member(gpointer unused)
{
    static int item;
    g_mutex_lock(&one);
    mixed = 1; /* @one */
    g_mutex_unlock(&one);
    g_async_queue_push(queue, &item);
    late = 1; /* @late */
    return unused;
}

static void work(gpointer item, gpointer unused)
{
    hits = GPOINTER_TO_INT(item); /* @hit */
    (void)unused;
}

int main(void)
{
    queue = g_async_queue_new();
    GThread *thread = g_thread_new("member", member, NULL);
    g_mutex_lock(&other);
    mixed = 2; /* @other */
    g_mutex_unlock(&other);
    g_async_queue_pop(queue);
    late = 2; /* @early */
    g_thread_join(thread);
    GThreadPool *pool = g_thread_pool_new(work, NULL, 2, TRUE, NULL);
    g_thread_pool_push(pool, GINT_TO_POINTER(1), NULL);
    g_thread_pool_push(pool, GINT_TO_POINTER(2), NULL);
    hits = 3; /* @main */
    g_thread_pool_free(pool, FALSE, TRUE);
    return 0;
}
