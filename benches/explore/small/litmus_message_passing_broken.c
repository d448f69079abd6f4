/* The flag is stored before the data.
 * Verdict: assertion. */
#include "../threads.h"

static atomic_int data, flag, r0, r1 = 1;

THREAD(t0)
{
    flag = 1;
    data = 1;
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
