/* The flag is checked before the lock is taken; it may be set, and signaled, in between.
 * Kind: lost signal. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static condition done = CONDITION;
static atomic_bool is_done;

THREAD(waiter)
{
    if (!is_done) {
        lock(&m);
        await(&done, &m);
        unlock(&m);
    }
}

THREAD(worker)
{
    is_done = true;
    lock(&m);
    signal_one(&done);
    unlock(&m);
}

int main(void)
{
    RUN(waiter, worker);
    return 0;
}
