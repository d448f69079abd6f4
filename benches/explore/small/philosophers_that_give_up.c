/* Three philosophers who put the left fork back if the right one is taken.
 * Verdict: none. */
#include "../threads.h"

static mutex forks[3] = {MUTEX, MUTEX, MUTEX};

THREAD(philosopher)
{
    lock(&forks[number]);
    if (pthread_mutex_trylock(&forks[(number + 1) % 3]) == 0)
        unlock(&forks[(number + 1) % 3]);
    unlock(&forks[number]);
}

int main(void)
{
    RUN_EACH(3, philosopher);
    return 0;
}
