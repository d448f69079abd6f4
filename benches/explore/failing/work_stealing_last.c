/* A work-stealing queue whose owner takes the last element without competing with thieves for it.
 * After Chase and Lev, Dynamic circular work-stealing deque, SPAA 2005.
 * Kind: work stealing. Shows as: assertion. */
#include "../threads.h"

static atomic_int top, bottom, jobs[8], times_done[8];

static void push(int job)
{
    jobs[bottom] = job;
    bottom++;
}

static int pop(void)
{
    int at = bottom - 1;
    bottom = at;
    if (at < top) {
        bottom = (int)top;
        return -1;
    }
    return jobs[at];
}

static int steal(void)
{
    int at = top;
    if (at >= bottom)
        return -1;
    int job = jobs[at];
    return atomic_compare_exchange_strong(&top, &at, at + 1) ? job : -1;
}

static void perform(int job)
{
    if (job >= 0)
        assert(atomic_fetch_add(&times_done[job], 1) == 0);
}

THREAD(owner)
{
    push(0);
    push(1);
    perform(pop());
    push(2);
    perform(pop());
    perform(pop());
}

THREAD(thief)
{
    perform(steal());
    perform(steal());
}

int main(void)
{
    RUN(owner, thief);
    return 0;
}
