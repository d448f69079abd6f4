/* Three atomic increments.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x;

THREAD(t0)
{
    x++;
}

THREAD(t1)
{
    x++;
}

THREAD(t2)
{
    x++;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(x == 3);
    return 0;
}
