/* An owner and a thief; for the last element they compete (after Chase and Lev, SPAA 2005).
 * Verdict: none. */
#include "../threads.h"

static atomic_int top, bottom, jobs[4], times_done[4];

static void push(int job)
{
    int at = bottom;
    jobs[at] = job;
    bottom = at + 1;
}

static int pop(void)
{
    int at = bottom - 1;
    bottom = at;
    int first = top;
    if (at > first)
        return jobs[at];
    int job = -1;
    if (at == first && atomic_compare_exchange_strong(&top, &first, first + 1))
        job = jobs[at];
    bottom = at + 1;
    return job;
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
    perform(pop());
}

THREAD(thief)
{
    perform(steal());
}

int main(void)
{
    RUN(owner, thief);
    assert(times_done[0] == 1 && times_done[1] == 1);
    return 0;
}
