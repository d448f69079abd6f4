/* The flag says that the data is there before it is.
 * Kind: order. Shows as: assertion. */
#include "../threads.h"

static atomic_int ready, data;

THREAD(writer)
{
    ready = 1;
    data = 42;
}

THREAD(reader)
{
    if (ready)
        assert(data == 42);
}

int main(void)
{
    RUN(writer, reader);
    return 0;
}
