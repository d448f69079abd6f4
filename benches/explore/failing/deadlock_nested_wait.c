/* A thread waits for a condition while it holds a second lock, which the notifier needs.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static mutex outer = MUTEX, inner = MUTEX;
static condition filled = CONDITION;
static bool full;

THREAD(consumer)
{
    lock(&outer);
    lock(&inner);
    while (!full)
        await(&filled, &inner);
    unlock(&inner);
    unlock(&outer);
}

THREAD(producer)
{
    lock(&outer);
    lock(&inner);
    full = true;
    signal_one(&filled);
    unlock(&inner);
    unlock(&outer);
}

int main(void)
{
    RUN(producer, consumer);
    return 0;
}
