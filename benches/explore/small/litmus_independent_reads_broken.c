/* What IRIW does not promise: that both readers see the same.
 * Verdict: assertion. */
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
    assert(a + b == c + d);
    return 0;
}
