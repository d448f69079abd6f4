/* A cache entry is evicted and its memory given to another key while a reader still compares keys.
 * Kind: use after free. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static struct {
    int key, value;
} entry = {1, 100};

static bool find(int key)
{
    lock(&m);
    bool found = entry.key == key;
    unlock(&m);
    return found;
}

THREAD(reader)
{
    if (find(1)) {
        lock(&m);
        int value = entry.value;
        unlock(&m);
        assert(value == 100);
    }
}

THREAD(evicter)
{
    lock(&m);
    entry.key = 2;
    entry.value = 200;
    unlock(&m);
}

int main(void)
{
    RUN(reader, evicter);
    return 0;
}
