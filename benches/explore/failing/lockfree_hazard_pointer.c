/* A reader announces which node it uses, but does not look again whether the node is still there.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

static atomic_int alive[2] = {1, 1};
static atomic_int current, hazard = -1;

THREAD(reader)
{
    int used = current;
    hazard = used;
    assert(alive[used]);
    hazard = -1;
}

THREAD(replacer)
{
    current = 1;
    if (hazard != 0)
        alive[0] = 0;
}

int main(void)
{
    RUN(reader, replacer);
    return 0;
}
