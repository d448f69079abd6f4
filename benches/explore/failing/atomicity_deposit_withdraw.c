/* Deposits are made under the lock, the withdrawal computes the new balance outside of it.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static atomic_int balance = 10;

THREAD(deposit)
{
    lock(&m);
    balance += 5;
    unlock(&m);
}

THREAD(withdraw)
{
    int left = balance - 3;
    lock(&m);
    balance = left;
    unlock(&m);
}

int main(void)
{
    RUN(withdraw, deposit);
    assert(balance == 12);
    return 0;
}
