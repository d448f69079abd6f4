/* A race-free bounded buffer: one producer, two consumers, two condition variables.
 *
 * Everything shared is under one lock, and the waits give that lock away in the middle. The lock is
 * not held *across* a wait: a model that keeps it held would find these runs infeasible, one that
 * forgets to take it again would report races.
 */
#include <pthread.h>

enum { CAPACITY = 2, ITEMS_EACH = 3, CONSUMERS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static int buffer[CAPACITY];
static int first, count;

static void put(int item)
{
    pthread_mutex_lock(&lock);
    while (count == CAPACITY)
        pthread_cond_wait(&not_full, &lock);
    buffer[(first + count) % CAPACITY] = item; /* @put */
    count++;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static int take(void)
{
    pthread_mutex_lock(&lock);
    while (count == 0)
        pthread_cond_wait(&not_empty, &lock);
    int item = buffer[first]; /* @take */
    first = (first + 1) % CAPACITY;
    count--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
    return item;
}

static void *producer(void *unused)
{
    for (int i = 0; i < CONSUMERS * ITEMS_EACH; i++)
        put(i);
    return unused;
}

static void *consumer(void *total)
{
    for (int i = 0; i < ITEMS_EACH; i++)
        *(int *)total += take();
    return NULL;
}

int main(void)
{
    pthread_t p, c[CONSUMERS];
    int totals[CONSUMERS] = {0};
    pthread_create(&p, NULL, producer, NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&c[i], NULL, consumer, &totals[i]);
    pthread_join(p, NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(c[i], NULL);
    return totals[0] + totals[1] == 15 ? 0 : 1;
}
