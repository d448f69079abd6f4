/* What a thread has seen, those see that see its store (WRC).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, r = 1;

THREAD(t0)
{
    x = 1;
}

THREAD(t1)
{
    if (x) y = 1;
}

THREAD(t2)
{
    if (y) r = x;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(r);
    return 0;
}
