/* As with one seat in the middle, but the threads look at very different times, and take many other things from the same counter under the same lock.
 * Kind: atomicity. Shows as: assertion. */
#include "work.h"

static mutex m = MUTEX;
static int seats = 1, stock = ITEMS;

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
        lock(&m);
        stock--;
        unlock(&m);
        if (item == ITEMS / 4 + number * ITEMS / 2)
            take_a_seat();
    }
}

int main(void)
{
    RUN(worker, worker);
    assert(seats >= 0);
    return 0;
}
