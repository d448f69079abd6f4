/* Setters store two values that belong together, one after the other; a checker must not look between.
 * Kind: reordered stores. Shows as: assertion. Threads: 3, 10, 100. */
#include "../threads.h"

static atomic_int a, b;

THREAD(setter)
{
    a = 1;
    b = -1;
}

THREAD(checker)
{
    int seen = a;
    assert(b == -seen);
}

int main(void)
{
    for (int i = 0; i < THREADS - 1; i++)
        start(setter, i);
    start(checker, 0);
    join_all();
    return 0;
}
