/* The producer waits for room while it has the lock that the consumer needs.
 * Verdict: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static sem_t empty;
static int full;

THREAD(producer)
{
    lock(&m);
    sem_wait(&empty);
    full++;
    unlock(&m);
}

THREAD(consumer)
{
    lock(&m);
    if (full) {
        full--;
        sem_post(&empty);
    }
    unlock(&m);
}

int main(void)
{
    sem_init(&empty, 0, 1);
    RUN(producer, consumer, producer, consumer);
    return 0;
}
