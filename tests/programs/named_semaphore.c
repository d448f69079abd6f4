/* A named semaphore guards a sum, but for one access. The pointer to it is read by both threads, and is not the same number in
 * every run.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t *turn;
static int sum;

static void *adds(void *unused)
{
    sem_wait(turn);
    sum += 1; /* @guarded */
    sem_post(turn);
    return unused;
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof name, "/witness-sum-%d", getpid());
    turn = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    if (turn == SEM_FAILED || sem_unlink(name) != 0)
        return 1;
    pthread_t thread;
    pthread_create(&thread, 0, adds, 0);
    sem_wait(turn);
    sum += 2; /* @also */
    sem_post(turn);
    sum += 4; /* @bare */
    pthread_join(thread, 0);
    return sem_close(turn);
}
