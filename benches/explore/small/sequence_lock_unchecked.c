/* A sequence lock whose reader does not look again.
 * Verdict: assertion. */
#include "../threads.h"

static atomic_int sequence, low, high;

THREAD(writer)
{
    sequence++;
    low = 1;
    high = 1;
    sequence++;
}

THREAD(reader)
{
    assume(sequence % 2 == 0);
    int l = low, h = high;
    assert(l == h);
}

int main(void)
{
    RUN(writer, reader);
    return 0;
}
