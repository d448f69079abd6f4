/* Each looks whether the other is inside before it says that it goes in.
 * Kind: mutual exclusion. Shows as: assertion. */
#include "../threads.h"

static atomic_bool inside[2];
static atomic_int holders;

THREAD(party)
{
    if (inside[1 - number])
        return;
    inside[number] = true;
    assert(atomic_fetch_add(&holders, 1) == 0);
    holders--;
    inside[number] = false;
}

int main(void)
{
    RUN(party, party);
    return 0;
}
