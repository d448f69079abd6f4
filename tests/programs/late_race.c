/* A race at the end of a run that was long until then.
 *
 * Two consumers take what a producer hands over, for so many rounds that the way to the race is kept
 * as the trace has it and not made short, with everybody whom a signal woke on the way. Then they
 * count themselves, without the lock.
 */
#include <pthread.h>

enum { ITEMS = 20000, CONSUMERS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int stock, made;
static int done;

static void *consumer(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (stock == 0 && made < ITEMS)
            pthread_cond_wait(&filled, &lock);
        if (stock == 0)
            break;
        stock--;
    }
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    done++; /* @count */
    return unused;
}

static void *producer(void *unused)
{
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        stock++;
        made++;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t consumers[CONSUMERS], p;
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumers[i], NULL, consumer, NULL);
    pthread_create(&p, NULL, producer, NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(consumers[i], NULL);
    pthread_join(p, NULL);
    return 0;
}
