/* Two producers read where to write in one critical section, and write in the next.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static int slots[4], tail;

THREAD(producer)
{
    for (int i = 0; i < 2; i++) {
        lock(&m);
        int at = tail;
        unlock(&m);
        lock(&m);
        slots[at] = 1;
        tail = at + 1;
        unlock(&m);
    }
}

int main(void)
{
    RUN(producer, producer);
    assert(tail == 4);
    return 0;
}
