/* A maximum that is compared once and then swapped in whatever it has become.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

static atomic_int maximum;

static void offer(int value)
{
    int seen = maximum;
    while (value > seen) {
        int current = maximum;
        if (atomic_compare_exchange_strong(&maximum, &current, value))
            break;
    }
}

THREAD(large) { offer(9); }
THREAD(small) { offer(4); }

int main(void)
{
    RUN(small, large);
    assert(maximum == 9);
    return 0;
}
