/* Data protected by a trylock.
 *
 * Where the trylock succeeds the lock is held, and the tally is safe. Where it fails the thread does
 * without. Whether one fails depends on the schedule; in no schedule do the tallies race.
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int tally;

static void *worker(void *missed)
{
    for (int i = 0; i < 3; i++) {
        if (pthread_mutex_trylock(&lock) == 0) {
            tally++; /* @tally */
            pthread_mutex_unlock(&lock);
        } else {
            ++*(int *)missed;
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    int missed_a = 0, missed_b = 0;
    pthread_create(&a, NULL, worker, &missed_a);
    pthread_create(&b, NULL, worker, &missed_b);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return tally + missed_a + missed_b == 6 ? 0 : 1;
}
