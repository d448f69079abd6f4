/* A thread uses the handle that pthread_create gives its parent, which the parent has perhaps not stored yet.
 * Kind: order. Shows as: assertion. */
#include "../threads.h"

static atomic_int handle;

THREAD(child)
{
    assert(handle != 0);
}

int main(void)
{
    start(child, 0);
    handle = 7;
    join_all();
    return 0;
}
