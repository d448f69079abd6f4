/* A load does not see what its own thread stores later (CoRW).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, r;

THREAD(t0)
{
    r = x;
    x = 1;
}

THREAD(t1)
{
    x = 2;
}

int main(void)
{
    RUN(t0, t1);
    assert(r != 1);
    return 0;
}
