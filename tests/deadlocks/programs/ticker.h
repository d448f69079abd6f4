/* A thread that goes on beside those that wait, until it is told to stop; in a run that stands still, long enough. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int stop;
static int ticks;

static void *tick(void *arg)
{
    for (int round = 0; round < 1000 && !atomic_load(&stop); round++) {
        ticks++;
        sched_yield();
    }
    return arg;
}

/* Runs the two, and the ticker beside them until both have ended. */
__attribute__((unused)) static void run_beside(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t ticker, threads[2];
    pthread_create(&ticker, NULL, tick, NULL);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(ticker, NULL);
}
