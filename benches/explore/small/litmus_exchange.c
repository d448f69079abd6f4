/* Each of three threads takes what another left: the sum stays.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x = 1, a, b, c;

THREAD(t0)
{
    a = atomic_exchange(&x, 2);
}

THREAD(t1)
{
    b = atomic_exchange(&x, 3);
}

THREAD(t2)
{
    c = atomic_exchange(&x, 4);
}

int main(void)
{
    RUN(t0, t1, t2);
    assert(a + b + c + x == 10);
    return 0;
}
