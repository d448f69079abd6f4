/* Fails only if a reader sees one value after another, each in turn: four changes of threads at the right moments.
 * Kind: order. Shows as: assertion. */
#include "../threads.h"

static atomic_int x;

THREAD(writer)
{
    for (int i = 1; i <= 4; i++)
        x = i;
}

THREAD(reader)
{
    int right = 0;
    for (int i = 1; i <= 4; i++)
        right += x == i;
    assert(right < 4);
}

int main(void)
{
    RUN(writer, reader);
    return 0;
}
