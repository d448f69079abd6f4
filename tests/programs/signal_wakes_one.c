/* A signal wakes one waiter, not all.
 *
 * Two threads wait, and one signal comes. The thread that it wakes reads `page` after the store; the
 * other one's wait ends at its deadline, which orders nothing. A model in which the signal reaches
 * both misses the race.
 */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t published = PTHREAD_COND_INITIALIZER;
static int page;

static int wait_until(long milliseconds)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += milliseconds * 1000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;

    pthread_mutex_lock(&lock);
    int outcome = pthread_cond_timedwait(&published, &lock, &deadline); /* @wait */
    pthread_mutex_unlock(&lock);
    return outcome;
}

static void *first(void *unused)
{
    if (wait_until(500) == 0) {
        int seen = page; /* @woken */
        (void)seen;
    }
    return unused;
}

static void *second(void *unused)
{
    if (wait_until(50) != 0) {
        int seen = page; /* @timed_out */
        (void)seen;
    }
    return unused;
}

static void *publisher(void *unused)
{
    page = 7; /* @write */
    pthread_cond_signal(&published);
    return unused;
}

int main(void)
{
    pthread_t f, s, p;
    pthread_create(&f, NULL, first, NULL);
    pthread_create(&s, NULL, second, NULL);
    pthread_create(&p, NULL, publisher, NULL);
    pthread_join(f, NULL);
    pthread_join(s, NULL);
    pthread_join(p, NULL);
    return 0;
}
