// The module of an interpreter: two threads that race.
#include <pthread.h>

static int shared;

static void *adds(void *unused) {
    shared++;
    return unused;
}

void run(void) {
    pthread_t t, u;
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
}
