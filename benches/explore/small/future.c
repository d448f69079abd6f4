/* A value that is awaited under a condition by two.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static condition made = CONDITION;
static int value;

THREAD(maker)
{
    lock(&m);
    value = 9;
    signal_all(&made);
    unlock(&m);
}

THREAD(user)
{
    lock(&m);
    while (value == 0)
        await(&made, &m);
    assert(value == 9);
    unlock(&m);
}

int main(void)
{
    RUN(user, maker, user);
    return 0;
}
