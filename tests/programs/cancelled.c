/* Threads that are cancelled in a call, in a wait and in a loop.
 *
 * What they clean up comes after the call that cancelled them, which is all that orders it after what was done before that.
 */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

enum { THREADS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t ready;
static int pipe_ends[2];
static int reason, sum, cleaned;

static void clean(void *unused)
{
    sum += reason; /* @after */
    cleaned++; /* @count */
    (void)unused;
}

static void unlock(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void *in_call(void *unused)
{
    char byte;
    pthread_cleanup_push(clean, NULL);
    sem_post(&ready);
    read(pipe_ends[0], &byte, 1);
    pthread_cleanup_pop(0);
    return unused;
}

static void *in_wait(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    sem_post(&ready);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(0);
    return unused;
}

static void *in_loop(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    sem_post(&ready);
    for (;;)
        pthread_testcancel();
    pthread_cleanup_pop(0);
    return unused;
}

int main(void)
{
    void *(*bodies[THREADS])(void *) = {in_call, in_wait, in_loop};
    pthread_t threads[THREADS];
    if (pipe(pipe_ends) != 0)
        return 1;
    sem_init(&ready, 0, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < THREADS; i++)
        sem_wait(&ready);
    reason = 1; /* @before */
    for (int i = 0; i < THREADS; i++)
        pthread_cancel(threads[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
