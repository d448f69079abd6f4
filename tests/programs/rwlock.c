/* A reader-writer lock, once as it should be and once in the wrong mode.
 *
 * `value` is written under the exclusive mode and read under the shared one. `hits` is counted under
 * the shared mode, which any number of threads hold at once.
 */
#include <pthread.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;
static int hits;

static void *reader(void *unused)
{
    pthread_rwlock_rdlock(&lock);
    int seen = value;    /* @get */
    int before = hits;   /* @hits_read */
    hits = before + 1;   /* @hits_write */
    pthread_rwlock_unlock(&lock);
    (void)seen;
    return unused;
}

static void *writer(void *unused)
{
    pthread_rwlock_wrlock(&lock);
    value = 5; /* @set */
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t r1, r2, w;
    pthread_create(&r1, NULL, reader, NULL);
    pthread_create(&r2, NULL, reader, NULL);
    pthread_create(&w, NULL, writer, NULL);
    pthread_join(r1, NULL);
    pthread_join(r2, NULL);
    pthread_join(w, NULL);
    return 0;
}
