/* The flag is set and signaled without the lock, between the waiter's check and its wait.
 * Kind: lost signal. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static condition done = CONDITION;
static atomic_bool is_done;

THREAD(waiter)
{
    lock(&m);
    while (!is_done)
        await(&done, &m);
    unlock(&m);
}

THREAD(worker)
{
    is_done = true;
    signal_one(&done);
}

int main(void)
{
    RUN(waiter, worker);
    return 0;
}
