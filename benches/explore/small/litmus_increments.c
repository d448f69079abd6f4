/* Two increments in two steps each.
 * Verdict: assertion. */
#include "../threads.h"

static atomic_int x;

THREAD(t0)
{
    int seen = x;
    x = seen + 1;
}

THREAD(t1)
{
    int seen = x;
    x = seen + 1;
}

int main(void)
{
    RUN(t0, t1);
    assert(x == 2);
    return 0;
}
