/* A message is passed on by a third thread (ISA2).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, z, r = 1;

THREAD(t0)
{
    x = 1;
    y = 1;
}

THREAD(t1)
{
    if (y) z = 1;
}

THREAD(t2)
{
    if (z) r = x;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(r);
    return 0;
}
