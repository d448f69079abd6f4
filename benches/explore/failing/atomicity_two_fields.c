/* Two fields are to be equal, but a thread copies them in two critical sections.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static int low, high;

THREAD(setter)
{
    for (int i = 1; i <= 2; i++) {
        lock(&m);
        low = i;
        high = i;
        unlock(&m);
    }
}

THREAD(checker)
{
    lock(&m);
    int l = low;
    unlock(&m);
    lock(&m);
    int h = high;
    unlock(&m);
    assert(l == h);
}

int main(void)
{
    RUN(setter, checker);
    return 0;
}
