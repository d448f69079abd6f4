/* Each takes the fork on the left, then that on the right.
 * Kind: deadlock. Shows as: deadlock. Threads: 3, 5, 10. */
#include "../threads.h"

static mutex forks[THREADS];
static int meals;

THREAD(philosopher)
{
    mutex *left = &forks[number], *right = &forks[(number + 1) % THREADS];
    lock(left);
    lock(right);
    if (number == 0)
        meals++;
    unlock(right);
    unlock(left);
}

int main(void)
{
    for (int i = 0; i < THREADS; i++)
        pthread_mutex_init(&forks[i], 0);
    RUN_EACH(THREADS, philosopher);
    return 0;
}
