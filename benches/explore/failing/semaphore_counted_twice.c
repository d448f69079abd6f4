/* A connection is given back to its pool twice when a request is cancelled at the moment it ends.
 * Kind: atomicity. Shows as: assertion. */
#include "../threads.h"

static sem_t connections;
static atomic_bool held = true;
static atomic_int taken;

THREAD(give_back)
{
    if (held) {
        held = false;
        sem_post(&connections);
    }
}

THREAD(take)
{
    if (sem_trywait(&connections) == 0)
        taken++;
}

int main(void)
{
    sem_init(&connections, 0, 1);
    RUN(give_back, give_back, take);
    while (sem_trywait(&connections) == 0)
        taken++;
    assert(taken == 2);
    return 0;
}
