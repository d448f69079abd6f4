/* Whoever gives back a record looks at the number of references under the lock, and frees it in a later critical section, if there was none.
 * Kind: use after free. Shows as: assertion. */
#include "work.h"

static mutex m = MUTEX;
static int references = 1, record = 1;
static bool is_gone;

THREAD(gives_back)
{
    for (int item = 0; item < ITEMS; item++) {
        work_on(number, item);
        if (item != ITEMS / 3)
            continue;
        lock(&m);
        bool was_last = --references == 0;
        unlock(&m);
        if (was_last) {
            lock(&m);
            is_gone = true;
            record = 0;
            unlock(&m);
        }
    }
}

THREAD(takes)
{
    for (int item = 0; item < ITEMS; item++) {
        work_on(number, item);
        if (item != ITEMS / 3)
            continue;
        lock(&m);
        bool is_there = !is_gone;
        references += is_there;
        unlock(&m);
        if (!is_there)
            continue;
        work_on(number, item);
        lock(&m);
        int seen = record;
        references--;
        unlock(&m);
        assert(seen == 1);
    }
}

int main(void)
{
    RUN(gives_back, takes);
    return 0;
}
