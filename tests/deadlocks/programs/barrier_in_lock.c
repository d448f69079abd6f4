/* A barrier under a lock that the other one takes before it arrives. */
#include "ticker.h"
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *first(void *arg)
{
    usleep(1000);
    pthread_mutex_lock(&outer);
    pthread_barrier_wait(&both); /* @first */
    pthread_mutex_unlock(&outer);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&outer); /* @second */
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
