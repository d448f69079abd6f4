/* A writer replaces a version and takes the old one away only if the reader says that it is outside.
 * Verdict: none. */
#include "../threads.h"

static atomic_int valid[2] = {1, 1}, version, inside;

THREAD(reader)
{
    inside = 1;
    int seen = version;
    assert(valid[seen]);
    inside = 0;
}

THREAD(writer)
{
    version = 1;
    if (!inside)
        valid[0] = 0;
}

int main(void)
{
    RUN(reader, writer);
    return 0;
}
