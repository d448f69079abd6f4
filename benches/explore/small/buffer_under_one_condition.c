/* The same condition for both sides, two threads a side, and a signal for one: it may wake the wrong one.
 * Verdict: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static condition changed = CONDITION;
static int full;

static void change(int from)
{
    lock(&m);
    while (full != from)
        await(&changed, &m);
    full = 1 - from;
    signal_one(&changed);
    unlock(&m);
}

THREAD(producer)
{
    change(0);
}

THREAD(consumer)
{
    change(1);
}

int main(void)
{
    start(consumer, 0);
    start(consumer, 1);
    start(producer, 0);
    start(producer, 1);
    join_all();
    return 0;
}
