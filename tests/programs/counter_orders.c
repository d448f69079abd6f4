/* The limit of what one trace can say.
 *
 * As in hidden_race.c, but both threads increment the *same* counter. The reader's increment reads
 * the value that the writer's stored, and a program may do anything with a value it has read, so
 * no reordering of this trace may change it: the pair is refuted when the writer's section came
 * first. The race is real, and a trace of the other order shows it. A refutation speaks of its
 * trace, not of the program.
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n;
static int message;

static void *writer(void *unused)
{
    message = 1; /* @write */
    pthread_mutex_lock(&lock);
    n++; /* @first */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused)
{
    pthread_mutex_lock(&lock);
    n++; /* @second */
    pthread_mutex_unlock(&lock);
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
