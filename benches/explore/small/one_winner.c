/* Of three that compare and swap, exactly one wins.
 * Verdict: none. */
#include "../threads.h"

static atomic_int owner, winners;

THREAD(compete)
{
    int nobody = 0;
    if (atomic_compare_exchange_strong(&owner, &nobody, (int)number + 1))
        winners++;
}

int main(void)
{
    RUN_EACH(3, compete);
    assert(winners == 1);
    return 0;
}
