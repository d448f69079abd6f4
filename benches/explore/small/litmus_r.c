/* Two stores against a store and a load (R).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, r;

THREAD(t0)
{
    x = 1;
    y = 1;
}

THREAD(t1)
{
    y = 2;
    r = x;
}

int main(void)
{
    RUN(t0, t1);
    assert(!(y == 2 && !r));
    return 0;
}
