/* Store buffering in a ring of three.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, z, r0, r1, r2;

THREAD(t0)
{
    x = 1;
    r0 = y;
}

THREAD(t1)
{
    y = 1;
    r1 = z;
}

THREAD(t2)
{
    z = 1;
    r2 = x;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(r0 || r1 || r2);
    return 0;
}
