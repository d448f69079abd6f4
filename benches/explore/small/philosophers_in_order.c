/* Three philosophers, one of whom takes the forks the other way round.
 * Verdict: none. */
#include "../threads.h"

static mutex forks[3] = {MUTEX, MUTEX, MUTEX};
static int uses[3];

THREAD(philosopher)
{
    int left = (int)number, right = (left + 1) % 3;
    int low = left < right ? left : right, high = left + right - low;
    lock(&forks[low]);
    lock(&forks[high]);
    uses[low]++;
    uses[high]++;
    unlock(&forks[high]);
    unlock(&forks[low]);
}

int main(void)
{
    RUN_EACH(3, philosopher);
    assert(uses[0] == 2 && uses[1] == 2 && uses[2] == 2);
    return 0;
}
