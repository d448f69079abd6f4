/* Threads give inodes blocks; one looks for a free block without the lock of the block map.
 * Kind: atomicity. Shows as: assertion. Threads: 4, 13. */
#include "../threads.h"

#define BLOCKS 26

static mutex map_lock = MUTEX;
static atomic_bool busy[BLOCKS];
static int owners[BLOCKS], owned;

static void take(int number, bool careful)
{
    int block = number % 3;
    if (careful)
        lock(&map_lock);
    while (busy[block])
        block++;
    if (!careful)
        lock(&map_lock);
    busy[block] = true;
    owned += owners[block] == 0;
    owners[block] = number + 1;
    unlock(&map_lock);
}

THREAD(careful) { take(number, true); }
THREAD(careless) { take(number, false); }

int main(void)
{
    for (int i = 0; i < THREADS - 1; i++)
        start(careful, i);
    start(careless, THREADS - 1);
    join_all();
    assert(owned == THREADS);
    return 0;
}
