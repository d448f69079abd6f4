/* Two threads write two variables in opposite orders: not both first writes are the last (2+2W).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y;

THREAD(t0)
{
    x = 1;
    y = 2;
}

THREAD(t1)
{
    y = 1;
    x = 2;
}

int main(void)
{
    RUN(t0, t1);
    assert(!(x == 1 && y == 1));
    return 0;
}
