/* Two locks, in two orders.
 * Verdict: deadlock. */
#include "../threads.h"

static mutex a = MUTEX, b = MUTEX;

static void with(mutex *outer, mutex *inner)
{
    lock(outer);
    lock(inner);
    unlock(inner);
    unlock(outer);
}

THREAD(one) { with(&a, &b); }
THREAD(other) { with(&b, &a); }

int main(void)
{
    RUN(one, other);
    return 0;
}
