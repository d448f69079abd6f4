/* A sequence lock: a reader that saw an odd number, or two different ones, gives up.
 * Verdict: none. */
#include "../threads.h"

static atomic_int sequence, low, high;

THREAD(writer)
{
    for (int i = 1; i <= 2; i++) {
        sequence++;
        low = i;
        high = i;
        sequence++;
    }
}

THREAD(reader)
{
    int before = sequence;
    assume(before % 2 == 0);
    int l = low, h = high;
    assume(sequence == before);
    assert(l == h);
}

int main(void)
{
    RUN(writer, reader);
    return 0;
}
