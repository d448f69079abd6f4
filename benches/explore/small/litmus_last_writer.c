/* Main expects that the thread that was started last stores last.
 * Verdict: assertion. */
#include "../threads.h"

static atomic_int x;

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
    x = 3;
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(x == 3);
    return 0;
}
