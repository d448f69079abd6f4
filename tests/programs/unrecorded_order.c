/* Memory that code without instrumentation changes, beside a flag that synchronizes nothing.
 *
 * The second thread waits for the flag, so the accesses are never next at once, and nothing that is recorded orders them.
 * But a byte that nobody saw change keeps its accesses in their places: what changed it may have done anything.
 */
#include <pthread.h>
#include <sched.h>

static int data;
static int ready;

__attribute__((no_sanitize("thread"), noinline)) static void change_unseen(void)
{
    *(volatile int *)&data = 7;
}

static void *writer(void *unused)
{
    change_unseen();
    data++; /* @write */
    __atomic_store_n(&ready, 1, __ATOMIC_RELAXED);
    return unused;
}

static void *reader(void *unused)
{
    while (!__atomic_load_n(&ready, __ATOMIC_RELAXED))
        sched_yield();
    int seen = data; /* @read */
    (void)seen;
    return unused;
}

int main(void)
{
    pthread_t w, r;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r, NULL);
    return data != 8;
}
