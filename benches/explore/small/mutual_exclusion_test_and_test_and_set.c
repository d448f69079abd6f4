/* A lock that is looked at before it is tried.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_int taken;

THREAD(party)
{
    assume(taken == 0);
    assume(atomic_exchange(&taken, 1) == 0);
    critical_section();
    taken = 0;
}

int main(void)
{
    RUN_EACH(3, party);
    return 0;
}
