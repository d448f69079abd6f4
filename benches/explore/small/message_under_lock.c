/* A value and whether it is there are stored and read under one lock.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static int there, value;

THREAD(writer)
{
    lock(&m);
    value = 3;
    there = 1;
    unlock(&m);
}

THREAD(reader)
{
    lock(&m);
    if (there)
        assert(value == 3);
    unlock(&m);
}

int main(void)
{
    RUN(writer, reader, reader);
    return 0;
}
