/* A message passes two threads.
 * Verdict: none. */
#include "../threads.h"

static atomic_int w, x, y, z, r = 1;

THREAD(t0)
{
    w = 1;
    x = 1;
}

THREAD(t1)
{
    if (x) y = 1;
}

THREAD(t2)
{
    if (y) z = 1;
}

THREAD(t3)
{
    if (z) r = w;
}

int main(void)
{
    RUN(t0, t1, t2, t3);
    assert(r);
    return 0;
}
