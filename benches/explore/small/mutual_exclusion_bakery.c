/* Lamport's bakery for two.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_bool choosing[2];
static atomic_int ticket[2];

THREAD(party)
{
    int other = 1 - (int)number;
    choosing[number] = true;
    ticket[number] = 1 + ticket[other];
    choosing[number] = false;
    assume(!choosing[other]);
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
