/* A thread that finds the second lock taken falls back to a path that takes a third, in the wrong order.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static mutex a = MUTEX, b = MUTEX, slow = MUTEX;

THREAD(one)
{
    lock(&a);
    if (pthread_mutex_trylock(&b)) {
        lock(&slow);
        unlock(&slow);
    } else {
        unlock(&b);
    }
    unlock(&a);
}

THREAD(other)
{
    lock(&slow);
    lock(&b);
    unlock(&b);
    lock(&a);
    unlock(&a);
    unlock(&slow);
}

THREAD(holder)
{
    lock(&b);
    unlock(&b);
}

int main(void)
{
    RUN(one, other, holder);
    return 0;
}
