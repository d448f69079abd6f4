/* A buffer for one element, with a condition for each side.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static condition filled = CONDITION, emptied = CONDITION;
static int full, element;

THREAD(producer)
{
    for (int i = 1; i <= 2; i++) {
        lock(&m);
        while (full)
            await(&emptied, &m);
        element = i;
        full = 1;
        signal_one(&filled);
        unlock(&m);
    }
}

THREAD(consumer)
{
    for (int i = 1; i <= 2; i++) {
        lock(&m);
        while (!full)
            await(&filled, &m);
        assert(element == i);
        full = 0;
        signal_one(&emptied);
        unlock(&m);
    }
}

int main(void)
{
    RUN(producer, consumer);
    return 0;
}
