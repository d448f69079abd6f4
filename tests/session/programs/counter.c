/* Two threads that count under a lock. */
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int hits, y;

static void *a(void *u) {
    y = 1;
    pthread_mutex_lock(&m);
    hits++;
    pthread_mutex_unlock(&m);
    return u;
}

static void *b(void *u) {
    pthread_mutex_lock(&m);
    hits++;
    pthread_mutex_unlock(&m);
    y = 2;
    return u;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, a, 0);
    pthread_create(&t[1], 0, b, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
