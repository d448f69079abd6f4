/* Each of three threads adds twice, atomically.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x;

THREAD(add)
{
    x += 1;
    x += 2;
}

int main(void)
{
    RUN_EACH(3, add);
    assert(x == 9);
    return 0;
}
