/* Three threads count under one lock.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static int counter;

THREAD(count)
{
    lock(&m);
    counter++;
    unlock(&m);
}

int main(void)
{
    RUN_EACH(3, count);
    assert(counter == 3);
    return 0;
}
