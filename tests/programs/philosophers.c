/* Dining philosophers without a deadlock (the lower-numbered fork first), and without a race: what a
 * philosopher changes belongs to a fork that it holds.
 */
#include <pthread.h>

enum { SEATS = 3, MEALS = 2 };

static struct {
    pthread_mutex_t lock;
    int uses;
} forks[SEATS];

static void *philosopher(void *seat)
{
    int left = (int)(long)seat;
    int right = (left + 1) % SEATS;
    int low = left < right ? left : right;
    int high = left < right ? right : left;
    for (int i = 0; i < MEALS; i++) {
        pthread_mutex_lock(&forks[low].lock);
        pthread_mutex_lock(&forks[high].lock);
        forks[low].uses++;  /* @low */
        forks[high].uses++; /* @high */
        pthread_mutex_unlock(&forks[high].lock);
        pthread_mutex_unlock(&forks[low].lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[SEATS];
    for (int i = 0; i < SEATS; i++)
        pthread_mutex_init(&forks[i].lock, NULL);
    for (long i = 0; i < SEATS; i++)
        pthread_create(&threads[i], NULL, philosopher, (void *)i);
    int uses = 0;
    for (int i = 0; i < SEATS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SEATS; i++)
        uses += forks[i].uses; /* @sum */
    return uses == 2 * SEATS * MEALS ? 0 : 1;
}
