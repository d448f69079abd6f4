/* Each tells its intention, and gives up if the other has one: safe, not fair.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_bool wants[2];

THREAD(party)
{
    wants[number] = true;
    if (!wants[1 - number])
        critical_section();
    wants[number] = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
