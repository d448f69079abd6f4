/* A thousand threads at once. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int sum;

static void *work(void *arg) {
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&lock);
    sum++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 17);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &attr, work, NULL) != 0)
            abort();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (sum != THREADS)
        abort();
    return 0;
}
