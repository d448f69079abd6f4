/* A second round is written without a barrier after the first was read.
 * Verdict: race. */
#include "../threads.h"

static pthread_barrier_t b;
static int written[2], seen[2];

THREAD(party)
{
    for (int round = 1; round <= 2; round++) {
        written[number] = round;
        pthread_barrier_wait(&b);
        seen[number] = written[1 - number];
    }
}

int main(void)
{
    pthread_barrier_init(&b, 0, 2);
    RUN(party, party);
    return 0;
}
