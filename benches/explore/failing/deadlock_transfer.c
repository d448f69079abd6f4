/* A transfer locks the account it takes from before the one it gives to; among three accounts money goes round.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static struct {
    mutex m;
    int balance;
} accounts[3] = {{MUTEX, 10}, {MUTEX, 10}, {MUTEX, 10}};

static void transfer(int from, int to)
{
    lock(&accounts[from].m);
    if (accounts[from].balance >= 5) {
        lock(&accounts[to].m);
        accounts[from].balance -= 5;
        accounts[to].balance += 5;
        unlock(&accounts[to].m);
    }
    unlock(&accounts[from].m);
}

THREAD(round_about)
{
    transfer(number, (number + 1) % 3);
    transfer((number + 1) % 3, number);
}

int main(void)
{
    RUN_EACH(3, round_about);
    return 0;
}
