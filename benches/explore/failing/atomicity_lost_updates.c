/* Five threads add three times each, in two steps; four of the fifteen additions have to be lost before anybody notices.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static atomic_int counter;

THREAD(adder)
{
    for (int i = 0; i < 3; i++) {
        int seen = counter;
        counter = seen + 1;
    }
}

int main(void)
{
    RUN_EACH(5, adder);
    assert(counter > 11);
    return 0;
}
