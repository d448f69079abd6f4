/* A lock that is one bit.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_int taken;

THREAD(party)
{
    assume(atomic_exchange(&taken, 1) == 0);
    critical_section();
    taken = 0;
}

int main(void)
{
    RUN_EACH(3, party);
    return 0;
}
