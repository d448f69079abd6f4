/* Peterson's filter.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_int level[3], last[3];

THREAD(party)
{
    for (int l = 1; l < 3; l++) {
        level[number] = l;
        last[l] = (int)number;
        for (int other = 0; other < 3; other++)
            if (other != number)
                assume(level[other] < l || last[l] != (int)number);
    }
    critical_section();
    level[number] = 0;
}

int main(void)
{
    RUN_EACH(3, party);
    return 0;
}
