/* Two threads hand each other the turn by semaphores.
 * Verdict: none. */
#include "../threads.h"

static sem_t turns[2];
static int count;

THREAD(party)
{
    for (int round = 0; round < 2; round++) {
        sem_wait(&turns[number]);
        assert(count++ % 2 == number);
        sem_post(&turns[1 - number]);
    }
}

int main(void)
{
    sem_init(&turns[0], 0, 1);
    sem_init(&turns[1], 0, 0);
    RUN(party, party);
    return 0;
}
