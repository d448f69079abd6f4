/* A thread looks for the last zero of an array that others fill from the left neighbour; at 0 there always is one.
 * Verdict: none. */
#include "../threads.h"

static atomic_int array[4];

THREAD(search)
{
    int i = 3;
    while (array[i] != 0)
        i--;
    assert(i >= 0);
}

THREAD(fill)
{
    array[number] = array[number - 1] + 1;
}

int main(void)
{
    RUN(search, fill, fill, fill);
    return 0;
}
