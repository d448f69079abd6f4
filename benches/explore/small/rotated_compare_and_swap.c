/* Thread i swaps i for i + 1: only in one order do all four succeed.
 * Verdict: assertion. */
#include "../threads.h"

static atomic_int x;

THREAD(rotate)
{
    int seen = (int)number;
    atomic_compare_exchange_strong(&x, &seen, (int)number + 1);
}

int main(void)
{
    RUN_EACH(4, rotate);
    assert(x != 4);
    return 0;
}
