/* A consumer checks once, not in a loop: when it is woken, another one may have taken what there was.
 * Kind: lost signal. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static condition filled = CONDITION;
static int count;

THREAD(consumer)
{
    lock(&m);
    if (count == 0)
        await(&filled, &m);
    assert(count > 0);
    count--;
    unlock(&m);
}

THREAD(producer)
{
    for (int i = 0; i < 2; i++) {
        lock(&m);
        count++;
        signal_one(&filled);
        unlock(&m);
    }
}

int main(void)
{
    RUN(consumer, consumer, producer);
    return 0;
}
