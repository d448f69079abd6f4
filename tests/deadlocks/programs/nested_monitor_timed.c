/* As nested_monitor.c, but the wait gives up. */
#include "ticker.h"
#include <time.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_changed;

static void *first(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    usleep(1000);
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    while (!is_changed && pthread_cond_timedwait(&changed, &inner, &until) == 0)
        ;
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    usleep(10000);
    pthread_mutex_lock(&inner);
    is_changed = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&inner);
    return arg;
}

int main(void)
{
    run_beside(first, second);
    return 0;
}
