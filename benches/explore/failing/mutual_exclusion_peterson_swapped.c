/* Peterson's algorithm with its two stores the wrong way round.
 * Kind: mutual exclusion. Shows as: assertion. */
#include "../threads.h"

static atomic_bool wants[2];
static atomic_int turn, holders;

THREAD(party)
{
    turn = 1 - (int)number;
    wants[number] = true;
    if (wants[1 - number] && turn == 1 - number)
        return;
    assert(atomic_fetch_add(&holders, 1) == 0);
    holders--;
    wants[number] = false;
}

int main(void)
{
    RUN(party, party);
    return 0;
}
