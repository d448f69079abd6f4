/* Kessels's algorithm: the turn is made of two variables, each written by one thread (Arbitration without common modifiable variables, 1982).
 * Verdict: none. */
#include "../critical_section.h"

static atomic_bool wants[2];
static atomic_int half[2];

THREAD(party)
{
    int other = 1 - (int)number;
    wants[number] = true;
    int mine = number == 0 ? half[1] : 1 - half[0];
    half[number] = mine;
    if (wants[other])
        assume(number == 0 ? half[other] != mine : half[other] == mine);
    critical_section();
    wants[number] = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
