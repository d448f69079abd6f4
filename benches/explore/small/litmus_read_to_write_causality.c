/* The same, with the last thread storing before it loads (RWC).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, a, b, c;

THREAD(t0)
{
    x = 1;
}

THREAD(t1)
{
    a = x;
    b = y;
}

THREAD(t2)
{
    y = 1;
    c = x;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(!(a && !b && !c));
    return 0;
}
