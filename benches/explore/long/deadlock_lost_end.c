/* A thread that has done its work waits for the other one to have done its own; it looks whether it has before it takes the lock.
 * Kind: lost signal. Shows as: deadlock. */
#include "work.h"

static mutex m = MUTEX;
static condition ended = CONDITION;
static atomic_bool has_ended;

THREAD(first)
{
    for (int item = 0; item < ITEMS; item++)
        work_on(number, item);
    has_ended = true;
    lock(&m);
    signal_all(&ended);
    unlock(&m);
}

THREAD(second)
{
    for (int item = 0; item < ITEMS; item++)
        work_on(number, item);
    if (!has_ended) {
        lock(&m);
        await(&ended, &m);
        unlock(&m);
    }
}

int main(void)
{
    RUN(first, second);
    return 0;
}
