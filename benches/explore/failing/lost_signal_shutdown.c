/* A pool is told to stop by a flag and a signal; the worker that is woken does not pass it on to the other.
 * Kind: lost signal. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static condition work = CONDITION;
static bool stop;

THREAD(worker)
{
    lock(&m);
    while (!stop)
        await(&work, &m);
    unlock(&m);
}

int main(void)
{
    start(worker, 0);
    start(worker, 1);
    lock(&m);
    stop = true;
    signal_one(&work);
    unlock(&m);
    join_all();
    return 0;
}
