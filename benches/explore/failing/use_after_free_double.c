/* Two threads close a connection that is open, and both free its buffer.
 * Kind: use after free. Shows as: crash. */
#include "../threads.h"

static char *_Atomic buffer;

THREAD(closer)
{
    char *closed = buffer;
    if (closed) {
        buffer = 0;
        free(closed);
    }
}

int main(void)
{
    buffer = malloc(100);
    RUN(closer, closer);
    return 0;
}
