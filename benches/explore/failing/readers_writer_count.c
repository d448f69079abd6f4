/* A readers-writer lock whose first reader takes the writers' lock, decided by a count that is changed in two steps.
 * Kind: mutual exclusion. Shows as: deadlock. */
#include "../threads.h"

static sem_t writing;
static atomic_int readers, reading, holders;

THREAD(reader)
{
    int before = readers;
    readers = before + 1;
    if (before == 0)
        sem_wait(&writing);
    reading++;
    assert(holders == 0);
    reading--;
    if (atomic_fetch_sub(&readers, 1) == 1)
        sem_post(&writing);
}

THREAD(writer)
{
    sem_wait(&writing);
    holders++;
    assert(reading == 0);
    holders--;
    sem_post(&writing);
}

int main(void)
{
    sem_init(&writing, 0, 1);
    RUN(reader, reader, writer);
    return 0;
}
