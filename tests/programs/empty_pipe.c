/* A read that finds a pipe empty, and does not wait, came before the write.
 *
 * The reader looks at the data only if it was the first to have the lock, so the writer writes them after that.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], data, seen;

static void *reader(void *unused)
{
    char letter;
    pthread_mutex_lock(&m);
    if (read(ends[0], &letter, 1) != 1)
        seen = data; /* @read */
    pthread_mutex_unlock(&m);
    return unused;
}

static void *writer(void *unused)
{
    pthread_mutex_lock(&m);
    if (write(ends[1], "x", 1) != 1)
        seen = 2;
    pthread_mutex_unlock(&m);
    data = 1; /* @write */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    if (pipe2(ends, O_NONBLOCK) != 0)
        return 3;
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
