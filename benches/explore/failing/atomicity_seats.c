/* Sellers stop when all seats are sold, but look before they take the lock.
 * Kind: atomicity. Shows as: assertion. Threads: 3, 10. */
#include "../threads.h"

static mutex m = MUTEX;
static atomic_int sold;

THREAD(seller)
{
    if (sold < THREADS - 1) {
        lock(&m);
        sold++;
        unlock(&m);
    }
}

int main(void)
{
    RUN_EACH(THREADS, seller);
    assert(sold < THREADS);
    return 0;
}
