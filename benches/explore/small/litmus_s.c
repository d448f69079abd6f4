/* A store that follows a load of a flag comes after the store before the flag (S).
 * Verdict: none. */
#include "../threads.h"

static atomic_int x, y, r;

THREAD(t0)
{
    x = 2;
    y = 1;
}

THREAD(t1)
{
    r = y;
    x = 1;
}

int main(void)
{
    RUN(t0, t1);
    assert(!(r && x == 2));
    return 0;
}
