/* Four threads pass values round; main expects that all of them saw each other.
 * Kind: order. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static int x[4];

THREAD(pass)
{
    lock(&m);
    x[number] = x[(number + 3) % 4] + 1;
    unlock(&m);
}

int main(void)
{
    RUN_EACH(4, pass);
    assert(x[0] == 1 && x[1] <= 2 && x[3] != 1);
    return 0;
}
