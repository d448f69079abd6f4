/* A driver counts requests under way and is stopped when there are none; a request checks for the stop before it is counted.
 * After Qadeer and Wu, KISS: keep it simple and sequential, PLDI 2004.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static atomic_int under_way = 1;
static atomic_bool stopping, stopped;

static void release(void)
{
    if (atomic_fetch_sub(&under_way, 1) == 1)
        stopped = true;
}

THREAD(request)
{
    if (!stopping) {
        atomic_fetch_add(&under_way, 1);
        assert(!stopped);
        release();
    }
}

THREAD(stop)
{
    stopping = true;
    release();
}

int main(void)
{
    RUN(request, stop);
    return 0;
}
