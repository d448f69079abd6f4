/* Four readers of one write each see it or not.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x;

THREAD(write) { x = 1; }
THREAD(read)
{
    int seen = x;
    assert(seen == 0 || seen == 1);
}

int main(void)
{
    RUN(write, read, read, read, read);
    return 0;
}
