/* A barrier of our own whose count is reset by the last to leave; a fast thread enters the second round before.
 * Kind: lost signal. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static condition complete = CONDITION;
static int arrived, left;

static void barrier(void)
{
    lock(&m);
    arrived++;
    if (arrived == 2)
        signal_all(&complete);
    while (arrived < 2)
        await(&complete, &m);
    left++;
    if (left == 2)
        arrived = left = 0;
    unlock(&m);
}

THREAD(party)
{
    barrier();
    barrier();
}

int main(void)
{
    RUN(party, party);
    return 0;
}
