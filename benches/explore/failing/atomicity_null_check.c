/* A pointer is checked, and used after another thread has taken it away.
 * Kind: atomicity. Shows as: crash. */
#include "../threads.h"

static int query = 3;
static int *_Atomic current = &query;

THREAD(user)
{
    if (current) {
        int *used = current;
        *used += 1;
    }
}

THREAD(closer)
{
    current = 0;
}

int main(void)
{
    RUN(user, closer);
    return 0;
}
