/* What GLib orders: locks, conditions, single initialization, items of queues and pools. Nothing here races. */
#include <glib.h>

static GMutex lock;
static GCond changed;
static GRWLock shared;
static GRecMutex nested;
static GAsyncQueue *queue;
static GOnce once = G_ONCE_INIT;
static gsize made;
static gint bits;
static int counted, ready, announced, read_mostly, deep, initial, initial_too, bit_counted, worked[4], sum;

static gpointer initialize(gpointer unused)
{
    initial = 1; /* @initialize */
    return unused;
}

static gpointer member(gpointer item)
{
    g_mutex_lock(&lock);
    counted++; /* @counted */
    g_mutex_unlock(&lock);
    g_rw_lock_reader_lock(&shared);
    int seen = read_mostly; /* @reader */
    g_rw_lock_reader_unlock(&shared);
    g_rw_lock_writer_lock(&shared);
    read_mostly = seen + 1; /* @writer */
    g_rw_lock_writer_unlock(&shared);
    g_rec_mutex_lock(&nested);
    g_rec_mutex_lock(&nested);
    deep++; /* @deep */
    g_rec_mutex_unlock(&nested);
    g_rec_mutex_unlock(&nested);
    g_bit_lock(&bits, 3);
    bit_counted++; /* @bit */
    g_bit_unlock(&bits, 3);
    g_once(&once, initialize, item);
    seen = initial; /* @initialized */
    if (g_once_init_enter(&made)) {
        initial_too = 1; /* @enter */
        g_once_init_leave(&made, 1);
    }
    seen = initial_too; /* @left */
    int *own = g_new(int, 1);
    *own = seen; /* @fill */
    g_async_queue_push(queue, own);
    if (item) {
        announced = 1; /* @announce */
        g_mutex_lock(&lock);
        ready = 1;
        g_cond_signal(&changed);
        g_mutex_unlock(&lock);
    }
    return 0;
}

static void work(gpointer item, gpointer unused)
{
    int *slot = item;
    *slot += 1; /* @work */
    (void)unused;
}

int main(void)
{
    queue = g_async_queue_new();
    GThread *threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = g_thread_new("member", member, i ? &lock : NULL);
    g_mutex_lock(&lock);
    while (!ready)
        g_cond_wait(&changed, &lock);
    g_mutex_unlock(&lock);
    sum = announced; /* @told */
    for (int i = 0; i < 2; i++) {
        int *item = g_async_queue_pop(queue);
        sum += *item; /* @use */
        g_free(item);
    }
    for (int i = 0; i < 2; i++)
        g_thread_join(threads[i]);
    GThreadPool *pool = g_thread_pool_new(work, NULL, 2, FALSE, NULL);
    for (int i = 0; i < 4; i++) {
        worked[i] = i; /* @prepare */
        g_thread_pool_push(pool, &worked[i], NULL);
    }
    g_thread_pool_free(pool, FALSE, TRUE);
    for (int i = 0; i < 4; i++)
        sum += worked[i]; /* @collect */
    return sum != 13;
}
