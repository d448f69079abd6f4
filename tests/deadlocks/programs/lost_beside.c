/* The signal may come before anybody waits, and main joins who waits for it. */
#include "ticker.h"

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *first(void *arg)
{
    pthread_mutex_lock(&inner);
    pthread_cond_wait(&changed, &inner); /* @first */
    pthread_mutex_unlock(&inner);
    return arg;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&inner);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&inner);
    return arg;
}

int main(void)
{
    run_beside(first, second);
    return 0;
}
