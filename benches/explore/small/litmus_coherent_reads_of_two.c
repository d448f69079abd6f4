/* Two readers see two writes in the same order (CoRR2).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, a0, a1, b0, b1;

THREAD(t0)
{
    x = 1;
}

THREAD(t1)
{
    x = 2;
}

THREAD(t2)
{
    a0 = x;
    a1 = x;
}

THREAD(t3)
{
    b0 = x;
    b1 = x;
}

int main(void)
{
    RUN(t0, t1, t2, t3);
    assert(!(a0 == 1 && a1 == 2 && b0 == 2 && b1 == 1));
    return 0;
}
