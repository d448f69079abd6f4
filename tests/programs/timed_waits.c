/* Waits with a time limit: some end before it, one after.
 *
 * The limits are worked out from the clock, so that in a run that is given the recorded time they are all over from the
 * start. The one that ends by its limit does so before it is notified, but finds the lock taken and notices late.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, late = PTHREAD_COND_INITIALIZER;
static int rounds, waits;
static int done;

static struct timespec in_milliseconds(long n)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += n * 1000000;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    return limit;
}

static void *in_time(void *unused)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec limit = in_milliseconds(20);
        while (rounds == i)
            pthread_cond_timedwait(&more, &lock, &limit);
    }
    pthread_mutex_unlock(&lock);
    done++; /* @count */
    return unused;
}

static void *too_late(void *unused)
{
    pthread_mutex_lock(&lock);
    waits = 1;
    struct timespec limit = in_milliseconds(5);
    pthread_cond_timedwait(&late, &lock, &limit);
    pthread_mutex_unlock(&lock);
    done++; /* @count_late */
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, in_time, NULL);
    pthread_create(&b, NULL, too_late, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        sched_yield();
        pthread_mutex_lock(&lock);
        rounds++;
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    for (int waiting = 0; !waiting; sched_yield()) {
        pthread_mutex_lock(&lock);
        waiting = waits;
        if (waiting) {
            usleep(100000);
            pthread_cond_signal(&late);
        }
        pthread_mutex_unlock(&lock);
    }
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
