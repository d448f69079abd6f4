/* Lamport's fast algorithm (A fast mutual exclusion algorithm, TOCS 1987, algorithm 2).
 * Verdict: none. */
#include "../critical_section.h"

static atomic_int x, y;
static atomic_bool b[3];

THREAD(party)
{
    int me = (int)number + 1;
    b[me] = true;
    x = me;
    if (y != 0) {
        b[me] = false;
        return;
    }
    y = me;
    if (x != me) {
        b[me] = false;
        for (int j = 1; j <= 2; j++)
            assume(!b[j]);
        assume(y == me);
    }
    critical_section();
    y = 0;
    b[me] = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
