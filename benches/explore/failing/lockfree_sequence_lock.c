/* A reader of a sequence lock that looks at the number before it reads, but not after.
 * Kind: lock-free. Shows as: assertion. */
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
    if (sequence % 2 == 0) {
        int l = low, h = high;
        assert(l == h);
    }
}

int main(void)
{
    RUN(writer, reader);
    return 0;
}
