/* Main waits for a thread's end while it holds a lock that the thread may still need.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static atomic_bool busy;

THREAD(worker)
{
    busy = true;
    lock(&m);
    unlock(&m);
    busy = false;
}

int main(void)
{
    start(worker, 0);
    if (busy) {
        lock(&m);
        join_all();
        unlock(&m);
    } else {
        join_all();
    }
    return 0;
}
