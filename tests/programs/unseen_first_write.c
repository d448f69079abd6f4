/* Globals that code without instrumentation writes, and that the recording first sees read.
 *
 * `ready` is set by a function that leaves no events, after `message`. The first recorded access
 * of `ready` is the reader's, and sees 1: not because it was 1 from the start, as `limit` was,
 * which such a function had set before there was a second thread. A recorder that takes what it
 * first sees for the initial value would let the reader run first, and report a race on `message`.
 */
#include <pthread.h>

static int ready, limit;
static int message, other;

__attribute__((no_sanitize("thread"), noinline)) static void set_unseen(int *to, int value)
{
    *(volatile int *)to = value;
}

static void *writer(void *unused)
{
    other = 1;   /* @other_write */
    message = 1; /* @write */
    set_unseen(&ready, 1);
    return unused;
}

static void *reader(void *unused)
{
    int seen = 0;
    if (ready) /* @ready */
        seen = message; /* @read */
    return seen ? unused : 0;
}

static void *counter(void *unused)
{
    int seen = 0;
    while (seen < limit)
        seen += 1 + other; /* @other_read */
    return unused;
}

int main(void)
{
    pthread_t w, r, c;
    set_unseen(&limit, 1);
    pthread_create(&w, 0, writer, 0);
    pthread_create(&r, 0, reader, 0);
    pthread_create(&c, 0, counter, 0);
    pthread_join(w, 0);
    pthread_join(r, 0);
    pthread_join(c, 0);
    return 0;
}
