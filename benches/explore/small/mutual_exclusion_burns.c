/* The algorithm of Burns and Lamport for two: the second gives way.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_bool flag[2];

THREAD(party)
{
    if (number == 1) {
        assume(!flag[0]);
        flag[1] = true;
        assume(!flag[0]);
    } else {
        flag[0] = true;
        assume(!flag[1]);
    }
    critical_section();
    flag[number] = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
