/* Threads fill a cache under its lock. One that finds it half full takes the lock of the log within it; another one writes the log out, and looks at the
 * cache within that, once, if it comes before the cache is full. In the order of the first recording it comes later.
 * Kind: deadlock. Shows as: deadlock. */
#include "work.h"

static mutex cache = MUTEX, log_lock = MUTEX;
static int filled, logged;

THREAD(filler)
{
    for (int item = 0; item < ITEMS; item++) {
        work_on(number, item);
        lock(&cache);
        if (++filled == ITEMS / 2) {
            lock(&log_lock);
            logged++;
            unlock(&log_lock);
        }
        unlock(&cache);
    }
}

THREAD(writer)
{
    for (int item = 0; item < ITEMS / 2; item++)
        work_on(number, item);
    lock(&cache);
    bool is_full = filled == ITEMS;
    unlock(&cache);
    if (!is_full) {
        lock(&log_lock);
        lock(&cache);
        logged -= filled > 0;
        unlock(&cache);
        unlock(&log_lock);
    }
}

int main(void)
{
    RUN(filler, writer);
    return 0;
}
