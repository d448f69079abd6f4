/* Synchronization objects that are destroyed or freed while another thread may still come to use them.
 *
 * Each operation on an object uses its memory; to destroy, initialize or free it is to write it. Nothing orders
 * these here. The objects stand behind what the allocator writes into freed blocks, so that a use after it still works.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
    long unused[8];
    pthread_mutex_t lock;
};

static struct job *job;
static pthread_mutex_t mutex;
static pthread_cond_t condition;
static pthread_rwlock_t shared;
static pthread_spinlock_t spin;
static sem_t semaphore;

static void *worker(void *unused)
{
    pthread_mutex_lock(&job->lock);   /* @lock */
    pthread_mutex_unlock(&job->lock); /* @unlock */
    pthread_mutex_trylock(&mutex);    /* @trylock */
    pthread_cond_signal(&condition);  /* @signal */
    pthread_rwlock_rdlock(&shared);   /* @rdlock */
    pthread_spin_trylock(&spin);      /* @spin */
    sem_post(&semaphore);             /* @post */
    return unused;
}

int main(void)
{
    pthread_t t;
    job = calloc(1, sizeof *job);
    pthread_mutex_init(&mutex, NULL); /* @init */
    pthread_cond_init(&condition, NULL);
    pthread_rwlock_init(&shared, NULL);
    pthread_spin_init(&spin, 0);
    sem_init(&semaphore, 0, 0);
    pthread_create(&t, NULL, worker, NULL);
    usleep(20000); /* the worker's turn */
    free(job);                          /* @free */
    pthread_mutex_destroy(&mutex);      /* @mutex */
    pthread_cond_destroy(&condition);   /* @condition */
    pthread_rwlock_destroy(&shared);    /* @shared */
    pthread_spin_destroy(&spin);        /* @spin_end */
    sem_destroy(&semaphore);            /* @semaphore */
    pthread_join(t, NULL);
    return 0;
}
