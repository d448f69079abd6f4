/* An event may come before the callback for it is registered, and is dropped then.
 * Kind: order. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static void (*callback)(void);
static int seen;

static void count(void)
{
    seen++;
}

THREAD(source)
{
    lock(&m);
    if (callback)
        callback();
    unlock(&m);
}

THREAD(listener)
{
    lock(&m);
    callback = count;
    unlock(&m);
}

int main(void)
{
    RUN(listener, source);
    assert(seen == 1);
    return 0;
}
