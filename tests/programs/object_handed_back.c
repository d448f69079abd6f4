/* The same objects, destroyed and freed by who knows that nobody will use them again: the last of two that count
 * themselves out under the lock, the one who waited for a post, for a flag under a condition, for a barrier. POSIX lets the one
 * who takes a lock destroy it once it has given it back, though the other's unlock may not have returned.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct job {
    pthread_mutex_t lock;
    int users;
};

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static pthread_barrier_t barrier;
static int flag;

static void leave(struct job *job)
{
    pthread_mutex_lock(&job->lock); /* @lock */
    int last = --job->users == 0;
    pthread_mutex_unlock(&job->lock); /* @unlock */
    if (last) {
        pthread_mutex_destroy(&job->lock); /* @destroy */
        free(job);                         /* @free */
    }
}

static void *worker(void *job)
{
    leave(job);
    sem_post(&semaphore); /* @post */
    pthread_mutex_lock(&mutex);
    flag = 1;
    pthread_cond_signal(&condition); /* @signal */
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier); /* @barrier */
    return NULL;
}

int main(void)
{
    pthread_t t;
    struct job *job = malloc(sizeof *job);
    pthread_mutex_init(&job->lock, NULL); /* @init */
    job->users = 2;
    sem_init(&semaphore, 0, 0);
    pthread_cond_init(&condition, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&t, NULL, worker, job);
    leave(job);
    sem_wait(&semaphore);
    sem_destroy(&semaphore); /* @semaphore */
    pthread_mutex_lock(&mutex);
    while (!flag)
        pthread_cond_wait(&condition, &mutex); /* @wait */
    pthread_mutex_unlock(&mutex);
    pthread_cond_destroy(&condition); /* @condition */
    pthread_mutex_destroy(&mutex);    /* @mutex */
    pthread_barrier_wait(&barrier);   /* @barrier_main */
    pthread_barrier_destroy(&barrier); /* @barrier_end */
    pthread_join(t, NULL);
    return 0;
}
