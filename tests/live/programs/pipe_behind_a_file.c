/* Main makes a pipe after another thread has opened a file. No schedule that leads to the race needs that file: then the
 * pipe gets the numbers before the recorded ones, and the first of these is what its own second end has. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static int data, seen, file = -1;
static int ends[2];

static void *opener(void *arg) {
    file = open("/dev/null", O_RDONLY);
    return arg;
}

static void *reader(void *arg) {
    seen = data; /* @read */
    return arg;
}

int main(void) {
    pthread_t threads[2];
    char text = 'x';
    pthread_create(&threads[0], NULL, opener, NULL);
    sched_yield();
    /* Both are read again, and so compared. */
    if (pipe(ends) != 0 || ends[0] == ends[1])
        abort();
    if (write(ends[1], &text, 1) != 1 || read(ends[0], &text, 1) != 1)
        abort();
    pthread_create(&threads[1], NULL, reader, NULL);
    data = 1; /* @write */
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return seen > 1;
}
