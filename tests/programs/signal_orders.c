/* A signal that wakes a waiter orders what came before it.
 *
 * No lock protects `page`, so its lockset is empty. The reader waits first, with a deadline far
 * away, and goes on only if it was woken: the one signal there is must come between the start and
 * the end of its wait, and the store of `page` comes before the signal. With the other start order
 * the signal is lost and the reader, woken by nothing, leaves `page` alone.
 */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t published = PTHREAD_COND_INITIALIZER;
static int page;

static void *publisher(void *unused)
{
    page = 7; /* @write */
    pthread_cond_signal(&published); /* @signal */
    return unused;
}

static void *reader(void *unused)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 1;

    pthread_mutex_lock(&lock);
    int outcome = pthread_cond_timedwait(&published, &lock, &deadline); /* @wait */
    pthread_mutex_unlock(&lock);
    if (outcome == 0) {
        int seen = page; /* @read */
        (void)seen;
    }
    return unused;
}

int main(void)
{
    pthread_t r, p;
    pthread_create(&r, NULL, reader, NULL);
    pthread_create(&p, NULL, publisher, NULL);
    pthread_join(r, NULL);
    pthread_join(p, NULL);
    return 0;
}
