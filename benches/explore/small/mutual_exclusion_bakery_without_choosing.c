/* The bakery without its doorway: a ticket may be drawn and not yet be seen.
 * Verdict: assertion. */
#include "../critical_section.h"

static atomic_int ticket[2];

THREAD(party)
{
    int other = 1 - (int)number;
    ticket[number] = 1 + ticket[other];
    int theirs = ticket[other], mine = ticket[number];
    assume(theirs == 0 || theirs > mine || (theirs == mine && number < other));
    critical_section();
    ticket[number] = 0;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
