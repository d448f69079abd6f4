/* A race at the start of a run that goes on for long.
 *
 * What comes after the race only makes the trace long: enough for several blocks of its file, so
 * that a trace cut in the middle still holds the race. The values are pseudo-random, since the file
 * takes almost no room for those that can be foreseen.
 */
#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = 40000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int early;
static unsigned state;

static void work(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        state = state * 1664525u + 1013904223u; /* @step */
        pthread_mutex_unlock(&lock);
    }
}

static void *writer(void *unused)
{
    early = 1; /* @write */
    usleep(20000); /* the reader's turn */
    work();
    return unused;
}

static void *reader(void *unused)
{
    int seen = early; /* @read */
    (void)seen;
    work();
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
