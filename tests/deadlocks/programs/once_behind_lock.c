/* As once_in_lock.c, but the other one waits for it without the lock. */
#include "ticker.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialize(void)
{
    pthread_mutex_lock(&outer); /* @first */
    pthread_mutex_unlock(&outer);
}

static void *first(void *arg)
{
    pthread_once(&once, initialize);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    pthread_once(&once, initialize);
    return arg;
}

int main(void)
{
    run_beside(first, second);
    return 0;
}
