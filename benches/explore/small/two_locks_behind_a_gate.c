/* Two locks in two orders, behind a third that lets one thread in at a time.
 * Verdict: none. */
#include "../threads.h"

static mutex gate = MUTEX, a = MUTEX, b = MUTEX;

static void with(mutex *outer, mutex *inner)
{
    lock(&gate);
    lock(outer);
    lock(inner);
    unlock(inner);
    unlock(outer);
    unlock(&gate);
}

THREAD(one) { with(&a, &b); }
THREAD(other) { with(&b, &a); }

int main(void)
{
    RUN(one, other);
    return 0;
}
