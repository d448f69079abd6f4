/* A condition variable may be destroyed as soon as nobody waits for it any more, also while those that it woke still
 * wait for the lock. It is initialized again at once: another object at the same address.
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int waits, go, seen;

static void *waiter(void *unused)
{
    pthread_mutex_lock(&lock);
    waits = 1;
    pthread_cond_signal(&condition);
    while (!go)
        pthread_cond_wait(&condition, &lock);
    seen++; /* @seen */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_cond_init(&condition, 0);
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    pthread_mutex_lock(&lock);
    while (!waits)
        pthread_cond_wait(&condition, &lock);
    go = 1;
    pthread_cond_signal(&condition);
    pthread_cond_destroy(&condition);
    pthread_cond_init(&condition, 0);
    seen++; /* @main */
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    pthread_cond_destroy(&condition);
    return seen != 2;
}
