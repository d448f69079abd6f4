/* A ring for one producer and one consumer.
 * Verdict: none. */
#include "../threads.h"

static int slots[2];
static atomic_int head, tail;

THREAD(producer)
{
    for (int i = 1; i <= 3; i++) {
        int at = tail;
        assume(at - head < 2);
        slots[at % 2] = i;
        tail = at + 1;
    }
}

THREAD(consumer)
{
    for (int i = 1; i <= 2; i++) {
        int at = head;
        assume(at < tail);
        assert(slots[at % 2] == i);
        head = at + 1;
    }
}

int main(void)
{
    RUN(producer, consumer);
    return 0;
}
