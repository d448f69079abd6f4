/* Three threads wait on a condition, and the one that waits first ends its wait first. A prefix that ends with the third
 * one behind its wait has another one woken than the recorded run, long before its last events. */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t first, second, third;
static int shared;
static volatile int filler[4];

static void waits(sem_t *after, sem_t *then)
{
    if (after)
        sem_wait(after);
    pthread_mutex_lock(&lock);
    sem_post(then);
    pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
}

static void *waits_second(void *unused)
{
    waits(&first, &second);
    return unused;
}

static void *waits_first(void *unused)
{
    waits(NULL, &first);
    return unused;
}

static void *waits_third(void *unused)
{
    waits(&second, &third);
    shared = 1;
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, waits_second, NULL);
    pthread_create(&threads[1], NULL, waits_first, NULL);
    pthread_create(&threads[2], NULL, waits_third, NULL);
    sem_wait(&third);
    for (int i = 0; i < 20000; i++)
        filler[i & 3] = i;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 3; i++)
        pthread_cond_signal(&condition);
    pthread_mutex_unlock(&lock);
    shared = 2;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
