/* Two threads work for long. If one has found the other at work early on, it counts that later, once: it reads the count in one critical section,
 * and sets it in the next. Run one after the other, they never meet, and none of this code is reached.
 * Kind: atomicity. Shows as: assertion. */
#include "work.h"

static mutex m = MUTEX;
static bool at_work[8];
static int meetings, counted;

static bool is_anybody_else_at_work(intptr_t number)
{
    bool found = false;
    lock(&m);
    for (int other = 0; other < 8; other++)
        found |= other != number && at_work[other];
    unlock(&m);
    return found;
}

static void set_at_work(intptr_t number, bool is)
{
    lock(&m);
    at_work[number] = is;
    unlock(&m);
}

static void count_a_meeting(void)
{
    lock(&m);
    int before = meetings;
    unlock(&m);
    lock(&m);
    meetings = before + 1;
    counted++;
    unlock(&m);
}

THREAD(worker)
{
    bool has_met = false;
    set_at_work(number, true);
    for (int item = 0; item < ITEMS; item++) {
        work_on(number, item);
        if (item == ITEMS / 8)
            has_met = is_anybody_else_at_work(number);
        if (has_met && item == ITEMS / 2 + (number % 2) * ITEMS / 4)
            count_a_meeting();
    }
    set_at_work(number, false);
}

int main(void)
{
    RUN(worker, worker);
    assert(meetings == counted);
    return 0;
}
