// The harmless twin of job.c: the job has its number before the thread is started.
#include <pthread.h>
#include <stdlib.h>

struct job {
    pthread_mutex_t lock;
    int number;
};

static void *work(void *argument)
{
    struct job *job = argument;
    pthread_mutex_lock(&job->lock);
    int share = 1000 / job->number; /* @early */
    pthread_mutex_unlock(&job->lock);
    return share > 1000 ? argument : NULL;
}

int main(void)
{
    struct job *job = calloc(1, sizeof *job);
    pthread_mutex_init(&job->lock, NULL);
    pthread_t worker;
    pthread_mutex_lock(&job->lock);
    job->number = 7;
    pthread_mutex_unlock(&job->lock);
    pthread_create(&worker, NULL, work, job);
    pthread_join(worker, NULL);
    return 0;
}
