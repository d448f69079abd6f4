/* The program's own exit status passes through the recorder. The worker is still running when main
 * returns: a thread without an end, whose events up to there count.
 */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int level;

static void *worker(void *unused)
{
    level = 1; /* @worker */
    pthread_mutex_lock(&lock); /* main holds it and never gives it back */
    return unused;
}

int main(void)
{
    pthread_t t;
    pthread_mutex_lock(&lock);
    pthread_create(&t, NULL, worker, NULL);
    usleep(20000); /* the worker's turn */
    level = 2; /* @main */
    return 7;
}
