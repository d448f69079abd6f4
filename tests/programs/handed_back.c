/* A thread takes once more the lock that it holds, and waits until another thread has given it back for it.
 *
 * What that thread does before is over by then; what it does after it races. So with each kind of lock that is not
 * recursive.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static int by_mutex, by_attempt, by_spin, late;

static void *gives_back(void *unused)
{
    by_mutex = 1; /* @mutex_before */
    pthread_mutex_unlock(&mutex);
    by_attempt = 1; /* @attempt_before */
    pthread_mutex_unlock(&tried);
    by_spin = 1; /* @spin_before */
    pthread_spin_unlock(&spin);
    late = 1; /* @late */
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&tried);
    pthread_spin_lock(&spin);
    pthread_create(&thread, NULL, gives_back, NULL);
    pthread_mutex_lock(&mutex);
    by_mutex = 2; /* @mutex_behind */
    while (pthread_mutex_trylock(&tried) != 0)
        sched_yield();
    by_attempt = 2; /* @attempt_behind */
    pthread_spin_lock(&spin);
    by_spin = 2; /* @spin_behind */
    late = 2; /* @too */
    pthread_spin_unlock(&spin);
    pthread_mutex_unlock(&tried);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    pthread_spin_destroy(&spin);
    return 0;
}
