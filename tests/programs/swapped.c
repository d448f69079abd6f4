/* What a `__sync` operation expects is put on the stack by no instruction that is recorded. It is no memory that
 * unrecorded code changes, though others may have an address of that stack.
 */
#include <pthread.h>
#include <stddef.h>

static volatile unsigned long count;
unsigned long shared;
static long *volatile published[2];
static volatile long noise;

static unsigned long add(unsigned long more)
{
    unsigned long seen = count, expected;
    do {
        expected = seen;
        seen = __sync_val_compare_and_swap(&count, expected, expected + more);
    } while (seen != expected);
    return expected + more;
}

static void *first(void *unused)
{
    shared = 1; /* @first */
    for (int i = 0; i < 40; i++)
        noise++;
    return unused;
}

__attribute__((noinline)) static void publish(void)
{
    long below[2] = {0};
    published[0] = below;
    below[1]++;
}

static void *second(void *unused)
{
    publish();
    long local[4] = {0};
    published[1] = local;
    for (int i = 0; i < 10; i++)
        local[0] += add(2 + i);
    shared = 2; /* @second */
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
