/* The queue lock of Craig, Landin and Hagersten.
 * Verdict: none. */
#include "../critical_section.h"

static atomic_bool taken[4];
static atomic_int tail = 3;

THREAD(party)
{
    taken[number] = true;
    int before = atomic_exchange(&tail, (int)number);
    assume(!taken[before]);
    critical_section();
    taken[number] = false;
}

int main(void)
{
    RUN_EACH(3, party);
    return 0;
}
