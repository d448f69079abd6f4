/* The thread that is joined needs the lock that is held meanwhile. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *worker(void *arg)
{
    pthread_mutex_lock(&lock); /* @worker */
    count++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    usleep(1000);
    pthread_mutex_lock(&lock);
    pthread_join(thread, NULL); /* @main */
    pthread_mutex_unlock(&lock);
    return 0;
}
