/* A signal that nobody waits for is lost, and orders nothing.
 *
 * The publisher signals before the reader waits; the reader's wait ends at its deadline. A tool
 * that draws an edge from every signal to every wait on the same condition misses the race.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t published = PTHREAD_COND_INITIALIZER;
static int page;

static void *publisher(void *unused)
{
    page = 7; /* @write */
    pthread_cond_signal(&published);
    return unused;
}

static void *reader(void *unused)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_nsec += 30 * 1000 * 1000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;

    pthread_mutex_lock(&lock);
    int outcome = pthread_cond_timedwait(&published, &lock, &deadline);
    pthread_mutex_unlock(&lock);
    if (outcome == ETIMEDOUT) {
        int seen = page; /* @read */
        (void)seen;
    }
    return unused;
}

int main(void)
{
    pthread_t p, r;
    pthread_create(&p, NULL, publisher, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(p, NULL);
    pthread_join(r, NULL);
    return 0;
}
