/* Peterson's algorithm.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_bool wants[2];
static atomic_int turn;

THREAD(party)
{
    wants[number] = true;
    turn = 1 - (int)number;
    assume(!(wants[1 - number] && turn == 1 - number));
    critical_section();
    wants[number] = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
