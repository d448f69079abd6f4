/* The balance is checked in one critical section and drawn from in the next.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static int balance = 100;

THREAD(withdraw)
{
    lock(&m);
    bool enough = balance >= 80;
    unlock(&m);
    if (enough) {
        lock(&m);
        balance -= 80;
        unlock(&m);
    }
}

int main(void)
{
    RUN(withdraw, withdraw);
    assert(balance >= 0);
    return 0;
}
