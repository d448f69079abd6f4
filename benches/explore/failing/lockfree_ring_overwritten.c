/* A ring whose producer makes the element visible before it is there, and looks for room before another producer has taken it.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

static atomic_int head, tail, slots[2];

THREAD(producer)
{
    int at = tail;
    if (at - head < 2) {
        atomic_fetch_add(&tail, 1);
        slots[at % 2] = 1;
    }
}

THREAD(consumer)
{
    for (int i = 0; i < 2; i++) {
        int at = head;
        if (at < tail) {
            assert(slots[at % 2] == 1);
            slots[at % 2] = 0;
            head = at + 1;
        }
    }
}

int main(void)
{
    RUN(producer, producer, consumer);
    return 0;
}
