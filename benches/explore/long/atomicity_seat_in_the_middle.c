/* Two threads work for long; in the middle of that, each takes a seat if one is left: it looks in one critical section, and takes it in the next.
 * Kind: atomicity. Shows as: assertion. */
#include "work.h"

static mutex m = MUTEX;
static int seats = 1;

static void take_a_seat(void)
{
    lock(&m);
    bool is_left = seats > 0;
    unlock(&m);
    if (is_left) {
        lock(&m);
        seats--;
        unlock(&m);
    }
}

THREAD(worker)
{
    for (int item = 0; item < ITEMS; item++) {
        work_on(number, item);
        if (item == ITEMS / 2)
            take_a_seat();
    }
}

int main(void)
{
    RUN(worker, worker);
    assert(seats >= 0);
    return 0;
}
