/* All threads but one take the same lock around the counter.
 * Kind: atomicity. Shows as: assertion. Threads: 3, 10. */
#include "../threads.h"

static mutex right = MUTEX, wrong = MUTEX;
static int counter;

static void add(mutex *m)
{
    lock(m);
    int seen = counter;
    counter = seen + 1;
    unlock(m);
}

THREAD(careful) { add(&right); }
THREAD(careless) { add(&wrong); }

int main(void)
{
    for (int i = 0; i < THREADS - 1; i++)
        start(careful, i);
    start(careless, 0);
    join_all();
    assert(counter == THREADS);
    return 0;
}
