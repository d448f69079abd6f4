/* Three writers of one variable, a reader of two loads: no value comes back.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, r0, r1;

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
    r0 = x;
    r1 = x;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(!(r0 && !r1));
    return 0;
}
