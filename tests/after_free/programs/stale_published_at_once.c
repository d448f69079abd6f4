// The harmless twin of stale_published.c: a job is queued and noted in one section.
#include <pthread.h>
#include <stdlib.h>

struct job {
    int number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job none, *queued, *latest = &none;

static void *submit(void *argument)
{
    struct job *job = calloc(1, sizeof *job);
    pthread_mutex_lock(&lock);
    queued = job;
    latest = job;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *work(void *argument)
{
    pthread_mutex_lock(&lock);
    struct job *job = queued;
    queued = NULL;
    pthread_mutex_unlock(&lock);
    if (!job)
        return argument;
    pthread_mutex_lock(&lock);
    latest = &none;
    free(job);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *report(void *argument)
{
    pthread_mutex_lock(&lock);
    int number = latest->number;
    pthread_mutex_unlock(&lock);
    return number ? argument : NULL;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, submit, NULL);
    pthread_create(&threads[1], NULL, work, NULL);
    pthread_create(&threads[2], NULL, report, NULL);
    for (int thread = 0; thread < 3; thread++)
        pthread_join(threads[thread], NULL);
    return 0;
}
