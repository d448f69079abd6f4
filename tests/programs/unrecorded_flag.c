/* A flag that the C library writes: strtol stores into `end`, and nothing records that.
 *
 * Free of races: whoever finds the flag moved has taken the lock after the writer gave it back,
 * and so after the store to `data`. The read of the flag sees a value that no recorded write left.
 * It has to keep its place behind all that the writer did, not only behind the writes of the flag.
 */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[] = "7x";
static char *end;
static int data;

static void *writer(void *unused)
{
    pthread_mutex_lock(&lock);
    end = text;
    pthread_mutex_unlock(&lock);
    data = 1; /* @data */
    pthread_mutex_lock(&lock);
    (void)strtol(text, &end, 10); /* end = text + 1 */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused)
{
    pthread_mutex_lock(&lock);
    int moved = end == text + 1;
    pthread_mutex_unlock(&lock);
    if (moved)
        data++; /* @use */
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
