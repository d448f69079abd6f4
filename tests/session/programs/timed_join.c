/* Joins with a time limit: whether the thread had ended by then shows in what comes next. With an argument, it is a failure if it had not. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static int shared;

static void *counts(void *value)
{
    shared++;
    return value;
}

int main(int count, char **unused)
{
    pthread_t thread;
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 3600;
    pthread_create(&thread, NULL, counts, NULL);
    if (pthread_timedjoin_np(thread, NULL, &limit) == ETIMEDOUT) {
        if (count > 1)
            abort();
        if (pthread_tryjoin_np(thread, NULL) == EBUSY)
            pthread_join(thread, NULL);
    }
    /* Each of the three joins, where it succeeds, comes after the increment. */
    if (shared != 1)
        abort();
    return 0;
}
