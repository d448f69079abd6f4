/* Joins that fail.
 *
 * The second join of a thread fails because another one came first, and the program goes on without having waited: but only in
 * runs where it failed. A join that is only tried fails as long as the thread runs, so what it does then is not what a program
 * does that found the thread ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static pthread_t worker;
static sem_t may_end;
static int result, early;

static void *work(void *unused)
{
    result = 1; /* @work */
    while (sem_wait(&may_end) != 0) {
    }
    early = 1; /* @late */
    return unused;
}

static void *first(void *unused)
{
    pthread_join(worker, NULL);
    return unused;
}

int main(void)
{
    pthread_t joiner;
    sem_init(&may_end, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    if (pthread_tryjoin_np(worker, NULL) == EBUSY)
        early = 2; /* @running */
    sem_post(&may_end);
    pthread_create(&joiner, NULL, first, NULL);
    usleep(100000);
    if (pthread_join(worker, NULL) != 0)
        result = 2; /* @failed */
    pthread_join(joiner, NULL);
    return 0;
}
