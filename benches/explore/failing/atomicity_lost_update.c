/* Two threads add to a counter that is read and written in two steps.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static atomic_int counter;

THREAD(adder)
{
    int seen = counter;
    counter = seen + 1;
}

int main(void)
{
    RUN(adder, adder);
    assert(counter == 2);
    return 0;
}
