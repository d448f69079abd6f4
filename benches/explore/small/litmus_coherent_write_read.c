/* After its own store a thread does not load the initial value (CoWR).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, r;

THREAD(t0)
{
    x = 1;
    r = x;
}

THREAD(t1)
{
    x = 2;
}

int main(void)
{
    RUN(t0, t1);
    assert(r);
    return 0;
}
