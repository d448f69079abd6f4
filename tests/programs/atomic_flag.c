/* An atomic flag publishes data.
 *
 * No lock and no wait: the reader looks at the data only if it finds the flag set, and finding it
 * set means that the store of the data is over.
 */
#include <pthread.h>
#include <stdatomic.h>

static int data;
static atomic_int ready;

static void *publisher(void *unused)
{
    data = 42; /* @write */
    atomic_store_explicit(&ready, 1, memory_order_release);
    return unused;
}

static void *reader(void *unused)
{
    if (atomic_load_explicit(&ready, memory_order_acquire)) { /* @load */
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
