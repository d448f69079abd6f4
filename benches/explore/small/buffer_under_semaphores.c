/* A buffer for two elements between a producer and a consumer.
 * Verdict: none. */
#include "../threads.h"

static sem_t empty, filled;
static int slots[2];

THREAD(producer)
{
    for (int i = 0; i < 3; i++) {
        sem_wait(&empty);
        slots[i % 2] = i;
        sem_post(&filled);
    }
}

THREAD(consumer)
{
    for (int i = 0; i < 3; i++) {
        sem_wait(&filled);
        assert(slots[i % 2] == i);
        sem_post(&empty);
    }
}

int main(void)
{
    sem_init(&empty, 0, 2);
    sem_init(&filled, 0, 0);
    RUN(producer, consumer);
    return 0;
}
