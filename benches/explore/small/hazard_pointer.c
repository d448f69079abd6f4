/* A reader announces which node it uses and looks again whether it is still there; what is announced is not taken away.
 * Verdict: none. */
#include "../threads.h"

static atomic_int alive[2] = {1, 1};
static atomic_int current, hazard = -1;

THREAD(reader)
{
    int used = current;
    hazard = used;
    assume(current == used);
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
