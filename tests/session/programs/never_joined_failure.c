// main returns at once. A failure needs the reader between the two writers, in an order that threads which are created one
// after the other rarely take; and main's end, which ends the process, must not come before it.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int step;

static void *advance(void *from) {
    pthread_mutex_lock(&mutex);
    if (step == (int)(long)from)
        step++;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *look(void *unused) {
    pthread_mutex_lock(&mutex);
    assert(step != 1);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, advance, (void *)0L);
    pthread_create(&thread, 0, advance, (void *)1L);
    pthread_create(&thread, 0, look, 0);
    return 0;
}
