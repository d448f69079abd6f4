/* A pool of two equal workers: who does the last task tells main so. Whichever that is in a recorded run, it may be the
 * other one, which tells nobody anything there. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { TASKS = 3, WORKERS = 2 };

static sem_t tasks, done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int queued, stop;
static int pending = TASKS;

static void *worker(void *unused)
{
    (void)unused;
    for (;;) {
        sem_wait(&tasks);
        pthread_mutex_lock(&mutex);
        int has_one = queued > 0, ends = stop;
        queued -= has_one;
        pthread_mutex_unlock(&mutex);
        if (has_one && __atomic_sub_fetch(&pending, 1, __ATOMIC_SEQ_CST) == 0)
            sem_post(&done);
        else if (!has_one && ends)
            return NULL;
    }
}

int main(void)
{
    pthread_t threads[WORKERS];
    sem_init(&tasks, 0, 0);
    sem_init(&done, 0, 0);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < TASKS; i++) {
        pthread_mutex_lock(&mutex);
        queued++;
        pthread_mutex_unlock(&mutex);
        sem_post(&tasks);
    }
    sem_wait(&done);
    pthread_mutex_lock(&mutex);
    stop = 1;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WORKERS; i++)
        sem_post(&tasks);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    puts("all tasks are done");
    return 0;
}
