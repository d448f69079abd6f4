/* Three locks, three threads; no two of them are in each other's way.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static mutex m[3] = {MUTEX, MUTEX, MUTEX};
static atomic_int work;

static void with(int outer, int inner)
{
    lock(&m[outer]);
    work++;
    lock(&m[inner]);
    work++;
    unlock(&m[inner]);
    unlock(&m[outer]);
}

THREAD(round_about)
{
    with(number, (number + 1) % 3);
}

int main(void)
{
    RUN_EACH(3, round_about);
    return 0;
}
