/* Szymanski's algorithm for two (A simple solution to Lamport's concurrent programming problem with linear wait, ICS 1988).
 * Verdict: none. */
#include "../critical_section.h"

static atomic_int flag[2];

THREAD(party)
{
    int other = 1 - (int)number;
    flag[number] = 1;
    assume(flag[other] < 3);
    flag[number] = 3;
    if (flag[other] == 1) {
        flag[number] = 2;
        assume(flag[other] == 4);
    }
    flag[number] = 4;
    assume(number == 0 || flag[0] < 2);
    critical_section();
    if (number == 0) {
        int theirs = flag[1];
        assume(theirs < 2 || theirs > 3);
    }
    flag[number] = 0;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
