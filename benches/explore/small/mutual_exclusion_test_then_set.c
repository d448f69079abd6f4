/* A lock that is looked at and taken in two steps.
 * Verdict: assertion. */
#include "../critical_section.h"

static atomic_int taken;

THREAD(party)
{
    assume(taken == 0);
    taken = 1;
    critical_section();
    taken = 0;
}

int main(void)
{
    RUN_EACH(3, party);
    return 0;
}
