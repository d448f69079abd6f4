/* Two loads of one variable do not go back in time (CoRR).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, r0, r1;

THREAD(t0)
{
    x = 1;
    x = 2;
}

THREAD(t1)
{
    r0 = x;
    r1 = x;
}

int main(void)
{
    RUN(t0, t1);
    assert(r1 >= r0);
    return 0;
}
