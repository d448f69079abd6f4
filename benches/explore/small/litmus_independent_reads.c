/* Two readers see two independent writes in the same order (IRIW).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, a, b, c, d;

THREAD(t0)
{
    x = 1;
}

THREAD(t1)
{
    y = 1;
}

THREAD(t2)
{
    a = x;
    b = y;
}

THREAD(t3)
{
    c = y;
    d = x;
}

int main(void)
{
    RUN(t0, t1, t2, t3);
    assert(!(a && !b && c && !d));
    return 0;
}
