/* A ticket lock whose tickets are drawn in two steps: two threads may have the same.
 * Kind: mutual exclusion. Shows as: assertion. Threads: 3, 8. */
#include "../threads.h"

static atomic_int next_ticket, holders[THREADS];

THREAD(party)
{
    int ticket = next_ticket;
    next_ticket = ticket + 1;
    assert(atomic_fetch_add(&holders[ticket], 1) == 0);
}

int main(void)
{
    RUN_EACH(THREADS, party);
    return 0;
}
