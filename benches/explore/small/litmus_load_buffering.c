/* Both threads load, then store what the other loads (LB).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, r0, r1;

THREAD(t0)
{
    r0 = x;
    y = 1;
}

THREAD(t1)
{
    r1 = y;
    x = 1;
}

int main(void)
{
    RUN(t0, t1);
    assert(!(r0 && r1));
    return 0;
}
