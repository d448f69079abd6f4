/* A relaxed flag publishes data, too weakly.
 *
 * In every sequentially consistent schedule the read comes after the write, since it waits for the
 * flag: the two are never next at once. But a relaxed store and load do not synchronize, so nothing
 * orders the two accesses, and C11 calls it a race.
 */
#include <pthread.h>
#include <stdatomic.h>

static int data;
static atomic_int ready;

static void *publisher(void *unused)
{
    data = 42; /* @write */
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused)
{
    if (atomic_load_explicit(&ready, memory_order_relaxed)) {
        int seen = data; /* @read */
        (void)seen;
    }
    return unused;
}

int main(void)
{
    pthread_t p, r;
    pthread_create(&p, NULL, publisher, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(p, NULL);
    pthread_join(r, NULL);
    return 0;
}
