/* A wait that does not look whether the signal has been.
 * Verdict: deadlock. */
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
