/* A thread waits for a signal that may have come before.
 * Kind: lost signal. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static condition done = CONDITION;

THREAD(waiter)
{
    lock(&m);
    await(&done, &m);
    unlock(&m);
}

THREAD(worker)
{
    lock(&m);
    signal_one(&done);
    unlock(&m);
}

int main(void)
{
    RUN(waiter, worker);
    return 0;
}
