/* Peterson's turn without the intentions: it keeps nobody out who comes alone.
 * Verdict: assertion. */
#include "../critical_section.h"

static atomic_int turn;

THREAD(party)
{
    turn = (int)number;
    assume(turn == (int)number);
    critical_section();
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
