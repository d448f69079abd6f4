/* Four threads take items from a counter, each in one critical section; only at the last one do they look whether one is left before they take it.
 * Kind: atomicity. Shows as: assertion. */
#include "work.h"

static mutex m = MUTEX;
static int left = 2 * ITEMS;

THREAD(worker)
{
    for (int item = 0;; item++) {
        lock(&m);
        bool is_last = left == 1;
        bool is_left = left > 0;
        if (is_left && !is_last)
            left--;
        unlock(&m);
        if (!is_left)
            return;
        if (is_last) {
            lock(&m);
            left--;
            unlock(&m);
        }
        work_on(number, item);
    }
}

int main(void)
{
    RUN_EACH(4, worker);
    assert(left == 0);
    return 0;
}
