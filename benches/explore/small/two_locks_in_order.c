/* Two locks, always in one order.
 * Verdict: none. */
#include "../threads.h"

static mutex a = MUTEX, b = MUTEX;
static int x, y;

THREAD(both)
{
    lock(&a);
    x++;
    lock(&b);
    y++;
    unlock(&b);
    unlock(&a);
}

THREAD(inner)
{
    lock(&b);
    y++;
    unlock(&b);
}

int main(void)
{
    RUN(both, inner, both);
    assert(x == 2 && y == 3);
    return 0;
}
