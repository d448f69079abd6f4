/* A work-stealing queue whose thieves read the job after they have moved the top: the owner may have used the slot again.
 * Kind: work stealing. Shows as: assertion. */
#include "../threads.h"

#define SLOTS 2

static atomic_int top, bottom, jobs[SLOTS], times_done[8];

static bool push(int job)
{
    if (bottom - top >= SLOTS)
        return false;
    jobs[bottom % SLOTS] = job;
    bottom++;
    return true;
}

static int steal(void)
{
    int at = top;
    if (at >= bottom || !atomic_compare_exchange_strong(&top, &at, at + 1))
        return -1;
    return jobs[at % SLOTS];
}

THREAD(owner)
{
    for (int job = 0; job < 4; job++)
        push(job);
}

THREAD(thief)
{
    for (int i = 0; i < 2; i++) {
        int job = steal();
        if (job >= 0)
            assert(atomic_fetch_add(&times_done[job], 1) == 0);
    }
}

int main(void)
{
    RUN(owner, thief, thief);
    return 0;
}
