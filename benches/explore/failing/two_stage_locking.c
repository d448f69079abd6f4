/* A value and what is derived from it are stored in two critical sections of two locks; readers may come between.
 * Kind: two-stage locking. Shows as: assertion. Threads: 2, 20, 100. */
#include "../threads.h"

static mutex of_value = MUTEX, of_derived = MUTEX;
static int value, derived;

THREAD(writer)
{
    lock(&of_value);
    value = 1;
    unlock(&of_value);
    lock(&of_derived);
    derived = value + 1;
    unlock(&of_derived);
}

THREAD(reader)
{
    lock(&of_value);
    int v = value;
    unlock(&of_value);
    if (v == 0)
        return;
    lock(&of_derived);
    int d = derived;
    unlock(&of_derived);
    assert(d == v + 1);
}

int main(void)
{
    for (int i = 0; i < THREADS - 1; i++)
        start(writer, i);
    start(reader, 0);
    join_all();
    return 0;
}
