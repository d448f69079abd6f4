/* Load buffering in a ring of three.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, z, r0, r1, r2;

THREAD(t0)
{
    r0 = x;
    y = 1;
}

THREAD(t1)
{
    r1 = y;
    z = 1;
}

THREAD(t2)
{
    r2 = z;
    x = 1;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(!(r0 && r1 && r2));
    return 0;
}
