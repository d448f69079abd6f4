/* As barrier_in_lock.c, but both arrive without the lock. */
#include "ticker.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *first(void *arg)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    pthread_barrier_wait(&both);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    pthread_barrier_wait(&both);
    return arg;
}

int main(void)
{
    pthread_barrier_init(&both, NULL, 2);
    run_beside(first, second);
    return 0;
}
