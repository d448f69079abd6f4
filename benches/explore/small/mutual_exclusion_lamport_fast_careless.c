/* Lamport's fast algorithm whose slow path does not wait for the other.
 * Verdict: assertion. */
#include "../critical_section.h"

static atomic_int x, y;

THREAD(party)
{
    int me = (int)number + 1;
    x = me;
    assume(y == 0);
    y = me;
    if (x != me)
        assume(y == me);
    critical_section();
    y = 0;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
