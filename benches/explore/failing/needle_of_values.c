/* Two threads take numbers in turn, Fibonacci's; the largest that they can reach is reached by strict alternation alone.
 * Kind: order. Shows as: assertion. */
#include "../threads.h"

static atomic_int i = 1, j = 1;

THREAD(first)
{
    for (int k = 0; k < 4; k++)
        i += j;
}

THREAD(second)
{
    for (int k = 0; k < 4; k++)
        j += i;
}

int main(void)
{
    RUN(first, second);
    assert(i < 55 && j < 55);
    return 0;
}
