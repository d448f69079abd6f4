/* Two locks in two orders.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static mutex a = MUTEX, b = MUTEX;
static int shared;

static void with(mutex *outer, mutex *inner)
{
    lock(outer);
    lock(inner);
    shared++;
    unlock(inner);
    unlock(outer);
}

THREAD(one) { with(&a, &b); }
THREAD(other) { with(&b, &a); }

int main(void)
{
    RUN(one, other);
    return 0;
}
