/* Whoever works mixes its number into a value, under a lock, after each item. One in some thousands of values is not handled: no place and no single
 * point of a run has to do with that, only the order of all turns.
 * Kind: order. Shows as: assertion. */
#include "work.h"

static mutex m = MUTEX;
static uint32_t mixed = 1;

THREAD(worker)
{
    for (int item = 0; item < ITEMS; item++) {
        work_on(number, item);
        lock(&m);
        mixed = mixed * 1664525 + 1013904223 + (uint32_t)number;
        assert((mixed >> 8) % 20021 != 0);
        unlock(&m);
    }
}

int main(void)
{
    RUN(worker, worker, worker);
    return 0;
}
