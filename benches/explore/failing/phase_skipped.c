/* A worker reads the phase twice; a controller advances it in between, so the work of one phase is done with the data of another.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static atomic_int phase;
static atomic_int data[3] = {0, 10, 20};

THREAD(worker)
{
    int value = data[phase];
    assert(value == phase * 10);
}

THREAD(controller)
{
    phase = 1;
    phase = 2;
}

int main(void)
{
    RUN(worker, controller);
    return 0;
}
