/* The last to come of two lets the other through; what was written before is seen after.
 * Verdict: none. */
#include "../threads.h"

static atomic_int arrived, sense;
static int written[2];

THREAD(party)
{
    written[number] = 1;
    if (atomic_fetch_add(&arrived, 1) == 1)
        sense = 1;
    assume(sense == 1);
    assert(written[1 - number] == 1);
}

int main(void)
{
    RUN(party, party);
    return 0;
}
