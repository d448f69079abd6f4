/* What a virtual machine for Java announces: finalizers run after everything that any thread did before
 * (`__tsan_java_finalize`). One thread has done its part by then, one is in the middle of its own, one comes later.
 */
#include <pthread.h>
#include <stdatomic.h>

void __tsan_java_finalize(void);

static int before, meanwhile, after;
static atomic_int steps;

static void reach(int step)
{
    atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
    while (atomic_load_explicit(&steps, memory_order_relaxed) < step)
        ;
}

static void *early(void *unused)
{
    before = 1; /* @before */
    reach(2);
    return unused;
}

static void *busy(void *unused)
{
    meanwhile = 1; /* @meanwhile */
    reach(2);
    while (atomic_load_explicit(&steps, memory_order_relaxed) < 3)
        ;
    after = 1; /* @after */
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, early, NULL);
    pthread_create(&b, NULL, busy, NULL);
    while (atomic_load_explicit(&steps, memory_order_relaxed) < 2)
        ;
    __tsan_java_finalize();
    before = 2;    /* @finalize_before */
    meanwhile = 2; /* @finalize_meanwhile */
    atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
    after = 2; /* @finalize_after */
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
