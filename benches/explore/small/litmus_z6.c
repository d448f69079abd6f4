/* Three threads in a cycle of stores and a load (Z6.3).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, z, r0, r1;

THREAD(t0)
{
    x = 1;
    y = 1;
}

THREAD(t1)
{
    y = 2;
    z = 1;
}

THREAD(t2)
{
    r0 = z;
    r1 = x;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(!(y == 2 && r0 && !r1));
    return 0;
}
