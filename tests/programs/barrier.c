/* A barrier separates what comes before it in every thread from what comes after it in any.
 *
 * Each thread fills its own slot, meets the other, and reads the other's slot: ordered. Then both
 * store `last`, with nothing between them: a race.
 */
#include <pthread.h>

static pthread_barrier_t meeting;
static int slots[2];
static int last;

static void *worker(void *index)
{
    int me = (int)(long)index;
    slots[me] = me + 1; /* @fill */
    pthread_barrier_wait(&meeting); /* @meet */
    int theirs = slots[1 - me]; /* @look */
    last = me; /* @last */
    (void)theirs;
    return NULL;
}

int main(void)
{
    pthread_t t, u;
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&t, NULL, worker, (void *)0L);
    pthread_create(&u, NULL, worker, (void *)1L);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    pthread_barrier_destroy(&meeting);
    return 0;
}
