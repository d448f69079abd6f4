/* Each of two threads starts one more and waits for it.
 * Verdict: none. */
#include "../threads.h"

static atomic_int sum;

static void *leaf(void *unused)
{
    sum += 1;
    return unused;
}

THREAD(inner)
{
    pthread_t t;
    pthread_create(&t, 0, leaf, 0);
    sum += 2;
    pthread_join(t, 0);
}

int main(void)
{
    RUN_EACH(2, inner);
    assert(sum == 6);
    return 0;
}
