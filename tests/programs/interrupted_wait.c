/* A signal handler that runs while its thread waits.
 *
 * The thread has given its lock back, so the handler may take it; it blocks on a semaphore and waits on a condition of its
 * own, and only what it does at last ends the wait that it interrupted. What it does under a lock is ordered like
 * everything under that lock; what it does under none races with the thread that sent the signal.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER, inner = PTHREAD_COND_INITIALIZER;
static sem_t go, waits, inside;
static int is_woken, goes_on;
static int guarded, bare, before;

static void handle(int number)
{
    (void)*(volatile int *)&before; /* @before_handler */
    bare = number; /* @handler */
    while (sem_wait(&go) != 0) {
    }
    pthread_mutex_lock(&other);
    guarded++; /* @guarded_handler */
    sem_post(&inside);
    while (!goes_on)
        pthread_cond_wait(&inner, &other);
    pthread_mutex_unlock(&other);
    pthread_mutex_lock(&lock);
    is_woken = 1;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&lock);
}

static void *waiter(void *unused)
{
    pthread_mutex_lock(&lock);
    sem_post(&waits);
    while (!is_woken)
        pthread_cond_wait(&woken, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&go, 0, 0);
    sem_init(&waits, 0, 0);
    sem_init(&inside, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    sem_wait(&waits);
    /* It waits once it has given the lock back. */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    before = 1; /* @before */
    pthread_kill(thread, SIGUSR1);
    bare = 0; /* @sender */
    sem_post(&go);
    pthread_mutex_lock(&other);
    guarded++; /* @guarded */
    pthread_mutex_unlock(&other);
    sem_wait(&inside);
    pthread_mutex_lock(&other);
    goes_on = 1;
    pthread_cond_signal(&inner);
    pthread_mutex_unlock(&other);
    pthread_join(thread, NULL);
    return 0;
}
