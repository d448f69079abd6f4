/* Two rounds of a barrier between writing and reading.
 * Verdict: none. */
#include "../threads.h"

static pthread_barrier_t b;
static int written[2];

THREAD(party)
{
    for (int round = 1; round <= 2; round++) {
        written[number] = round;
        pthread_barrier_wait(&b);
        assert(written[1 - number] == round);
        pthread_barrier_wait(&b);
    }
}

int main(void)
{
    pthread_barrier_init(&b, 0, 2);
    RUN(party, party);
    return 0;
}
