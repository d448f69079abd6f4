/* A run that shows the race is the first one in which the attempt fails. What comes of that in other orders nothing has
 * been asked of yet: there the program fails. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int stage;
static int racy, first, taken;
static sem_t permits;

static void *looks_first(void *unused)
{
    first = stage;
    sem_post(&permits);
    return unused;
}

static void *sets_stage(void *unused)
{
    stage = 1;
    racy = 1; /* @write */
    return unused;
}

static void *attempts(void *unused)
{
    int seen = racy; /* @read */
    taken = sem_trywait(&permits) == 0;
    stage = 2;
    return seen < 0 ? &racy : unused;
}

int main(void)
{
    void *(*const roles[])(void *) = {looks_first, sets_stage, attempts};
    pthread_t threads[3];
    sem_init(&permits, 0, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (first == 0 && taken == 0 && stage == 2)
        abort();
    return 0;
}
