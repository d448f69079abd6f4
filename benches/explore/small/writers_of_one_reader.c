/* Four writers; the reader sees one of them or none.
 * Verdict: none. */
#include "../threads.h"

static atomic_int x;

THREAD(write) { x = (int)number + 1; }
THREAD(read)
{
    int seen = x;
    assert(seen >= 0 && seen <= 4);
}

int main(void)
{
    RUN(write, write, write, write, read);
    return 0;
}
