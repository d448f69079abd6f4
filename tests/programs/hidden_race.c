/* A race hidden behind an unrelated critical section.
 *
 * The writer stores `message` and then counts itself; the reader counts itself and then loads
 * `message`. Both counters live under one lock, but nothing in that section has anything to do
 * with `message`. When the writer's section happens to come first, its unlock and the reader's
 * lock order the two accesses, so a happens-before detector is silent. Exchanging the two
 * sections is an equally possible run, and in it the accesses are next to each other.
 */
#include <pthread.h>

static pthread_mutex_t statistics_lock = PTHREAD_MUTEX_INITIALIZER;
static int writes, reads;
static int message;

static void *writer(void *unused)
{
    message = 1; /* @write */
    pthread_mutex_lock(&statistics_lock);
    writes++;
    pthread_mutex_unlock(&statistics_lock);
    return unused;
}

static void *reader(void *unused)
{
    pthread_mutex_lock(&statistics_lock);
    reads++;
    pthread_mutex_unlock(&statistics_lock);
    int seen = message; /* @read */
    (void)seen;
    return unused;
}

int main(void)
{
    pthread_t w, r;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r, NULL);
    return 0;
}
