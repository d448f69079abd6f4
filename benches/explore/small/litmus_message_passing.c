/* Whoever sees the flag sees the data (MP).
 * Verdict: none. */
#include "../threads.h"

static atomic_int data, flag, r0, r1 = 1;

THREAD(t0)
{
    data = 1;
    flag = 1;
}

THREAD(t1)
{
    r0 = flag;
    if (r0) r1 = data;
}

int main(void)
{
    RUN(t0, t1);
    assert(r1);
    return 0;
}
