/* A ring for one consumer that two use: both may take the same element.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

static atomic_int head, tail, slots[4], times_taken[4];

THREAD(producer)
{
    for (int i = 0; i < 2; i++) {
        slots[tail] = i;
        tail++;
    }
}

THREAD(consumer)
{
    int at = head;
    if (at < tail) {
        int element = slots[at];
        head = at + 1;
        assert(atomic_fetch_add(&times_taken[element], 1) == 0);
    }
}

int main(void)
{
    RUN(producer, consumer, consumer);
    return 0;
}
