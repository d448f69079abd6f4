/* Whether a key is in a table is looked up before the lock is taken to insert it.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static atomic_int keys[4];
static atomic_int count;

static bool contains(int key)
{
    int n = count;
    for (int i = 0; i < n; i++)
        if (keys[i] == key)
            return true;
    return false;
}

static void insert(int key)
{
    if (contains(key))
        return;
    lock(&m);
    keys[count] = key;
    count++;
    unlock(&m);
}

THREAD(one)
{
    insert(5);
    insert(6);
}

THREAD(other)
{
    insert(6);
}

int main(void)
{
    RUN(one, other);
    assert(count == 2);
    return 0;
}
