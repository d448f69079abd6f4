/* What store buffering does not promise: that exactly one thread loads the old value.
 * Verdict: assertion. */
#include "../threads.h"

static atomic_int x, y, r0, r1;

THREAD(t0)
{
    x = 1;
    r0 = y;
}

THREAD(t1)
{
    y = 1;
    r1 = x;
}

int main(void)
{
    RUN(t0, t1);
    assert(r0 != r1);
    return 0;
}
