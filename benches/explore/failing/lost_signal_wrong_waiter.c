/* One condition for two kinds of waiters, and a signal for one of them: a producer wakes a producer.
 * Kind: lost signal. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static condition changed = CONDITION;
static int full, taken;

THREAD(producer)
{
    lock(&m);
    while (full == 1)
        await(&changed, &m);
    full++;
    signal_one(&changed);
    unlock(&m);
}

THREAD(consumer)
{
    lock(&m);
    while (full == 0)
        await(&changed, &m);
    full--;
    taken++;
    signal_one(&changed);
    unlock(&m);
}

int main(void)
{
    start(producer, 0);
    start(producer, 1);
    start(producer, 2);
    start(consumer, 0);
    start(consumer, 1);
    start(consumer, 2);
    join_all();
    return 0;
}
