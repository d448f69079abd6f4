/* A readers-writer lock of one number: readers count up, a writer needs 0 and makes it -1.
 * Verdict: none. */
#include "../threads.h"

static atomic_int state, writers, data;

THREAD(reader)
{
    int seen = state;
    assume(seen >= 0 && atomic_compare_exchange_strong(&state, &seen, seen + 1));
    assert(writers == 0);
    int a = data, b = data;
    assert(a == b);
    state--;
}

THREAD(writer)
{
    int nobody = 0;
    assume(atomic_compare_exchange_strong(&state, &nobody, -1));
    writers = 1;
    data = 1;
    writers = 0;
    state = 0;
}

int main(void)
{
    RUN(reader, reader, writer);
    return 0;
}
