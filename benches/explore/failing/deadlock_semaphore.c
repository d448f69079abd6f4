/* A bounded buffer whose producer takes the lock before it waits for a free slot.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static mutex m = MUTEX;
static sem_t free_slots, filled;
static int buffer[1], in, out, taken;

THREAD(producer)
{
    for (int i = 0; i < 2; i++) {
        lock(&m);
        sem_wait(&free_slots);
        buffer[in++ % 1] = i;
        sem_post(&filled);
        unlock(&m);
    }
}

THREAD(consumer)
{
    for (int i = 0; i < 2; i++) {
        sem_wait(&filled);
        lock(&m);
        taken += buffer[out++ % 1];
        sem_post(&free_slots);
        unlock(&m);
    }
}

int main(void)
{
    sem_init(&free_slots, 0, 1);
    sem_init(&filled, 0, 0);
    start(producer, 0);
    start(producer, 1);
    start(consumer, 0);
    start(consumer, 1);
    join_all();
    return 0;
}
