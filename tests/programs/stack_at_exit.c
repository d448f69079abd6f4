/* The first thread leaves by pthread_exit, and a thread that nobody joins writes into its frame: to end the process
 * frees nothing.
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *total)
{
    pthread_mutex_lock(&lock);
    *(int *)total += 1; /* @write */
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    int total = 0; /* @total */
    pthread_t t;
    pthread_create(&t, NULL, worker, &total);
    pthread_detach(t);
    pthread_exit(NULL);
}
