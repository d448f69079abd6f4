/* A ticket lock.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_int next_ticket, serving;

THREAD(party)
{
    int mine = next_ticket++;
    assume(serving == mine);
    critical_section();
    serving = mine + 1;
}

int main(void)
{
    RUN_EACH(3, party);
    return 0;
}
