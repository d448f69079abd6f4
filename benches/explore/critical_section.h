/* A critical section that notices when two threads are in it. */
#include "threads.h"

static atomic_int holders;

static void critical_section(void)
{
    assert(atomic_fetch_add(&holders, 1) == 0);
    holders--;
}
