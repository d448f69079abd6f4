/* A trylock that failed says something too: the lock was held at that moment.
 *
 * The reader looks at `stage` only after its trylock failed. The one section in which the lock is
 * held comes after the store of `stage`, so in every run of this trace's events the store is over.
 * (As sequentially consistent executions go. C11 promises no ordering of memory after a failed
 * trylock; that is a question of weak memory, and not asked here.)
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stage;

static void *reader(void *unused)
{
    if (pthread_mutex_trylock(&lock) == 0) { /* @trylock */
        pthread_mutex_unlock(&lock);
        return unused;
    }
    int seen = stage; /* @read */
    (void)seen;
    return unused;
}

int main(void)
{
    pthread_t r;
    pthread_create(&r, NULL, reader, NULL);
    stage = 1; /* @write */
    pthread_mutex_lock(&lock);
    pthread_join(r, NULL);
    pthread_mutex_unlock(&lock);
    return 0;
}
