/* Copies a structure with its padding, which is what an earlier call left on the stack: here the argument, in each byte.
 * With a second argument, a call before that has set the same bytes to 0, and was recorded.
 *
 * Nothing depends on it up to 8. Above that, the program does more. */
#include <pthread.h>

struct padded {
    char letter;
    int number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct padded kept, copy;
static struct padded *volatile found;
static int data, seen, extra;

__attribute__((no_sanitize("thread"), noinline)) static void leave_on_the_stack(const char *argument) {
    volatile char left[4096];
    for (unsigned at = 0; at < sizeof left; at++)
        left[at] = (char)(argument[0] - '0');
}

__attribute__((noinline)) static void clear_the_stack(void) {
    volatile char left[4096];
    for (unsigned at = 0; at < sizeof left; at++)
        left[at] = 0;
}

__attribute__((noinline)) static void keep(void) {
    struct padded local;
    found = &local;
    local.letter = 'a';
    local.number = 1;
    kept = *found; /* @read */
    copy = kept;
    if (((char *)&copy)[1] > 8) /* @decides */
        extra = 1;              /* @extra */
}

static void *writer(void *arg) {
    data = copy.number; /* @write */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *reader(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    seen = data;
    return arg;
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    if (argc > 2)
        clear_the_stack();
    leave_on_the_stack(argc > 1 ? argv[1] : "0");
    keep();
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
