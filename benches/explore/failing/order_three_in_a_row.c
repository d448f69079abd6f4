/* Goes wrong only if three threads pass one lock in the reverse of the order in which they were started.
 * Kind: order. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static int stage;

static void pass(int from, int to)
{
    lock(&m);
    if (stage == from)
        stage = to;
    unlock(&m);
}

THREAD(first) { pass(2, 3); }
THREAD(second) { pass(1, 2); }
THREAD(third) { pass(0, 1); }

int main(void)
{
    RUN(first, second, third);
    assert(stage != 3);
    return 0;
}
