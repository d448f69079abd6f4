/* Two threads hand each other the turn under a condition.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static condition changed = CONDITION;
static int turn;

THREAD(party)
{
    for (int round = 0; round < 2; round++) {
        lock(&m);
        while (turn % 2 != number)
            await(&changed, &m);
        turn++;
        signal_one(&changed);
        unlock(&m);
    }
}

int main(void)
{
    RUN(party, party);
    assert(turn == 4);
    return 0;
}
