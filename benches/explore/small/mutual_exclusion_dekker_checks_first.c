/* Each looks for the other's intention before it tells its own.
 * Verdict: assertion. */
#include "../critical_section.h"

static atomic_bool wants[2];

THREAD(party)
{
    assume(!wants[1 - number]);
    wants[number] = true;
    critical_section();
    wants[number] = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
