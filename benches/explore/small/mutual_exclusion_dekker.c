/* Dekker's algorithm; one round of giving way.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_bool wants[2];
static atomic_int turn;

THREAD(party)
{
    int other = 1 - (int)number;
    wants[number] = true;
    if (wants[other]) {
        if (turn != (int)number) {
            wants[number] = false;
            assume(turn == (int)number);
            wants[number] = true;
        }
        assume(!wants[other]);
    }
    critical_section();
    turn = other;
    wants[number] = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
