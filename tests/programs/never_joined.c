// Nobody waits for the threads: main returns at once, and under fifo before any of them has begun. They run all the
// same before the process ends, as another schedule would have let them.
#include <pthread.h>

static long total;

static void *add(void *amount) {
    total += (long)amount; /* @add */
    return 0;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, 0, add, (void *)3L);
    pthread_create(&second, 0, add, (void *)4L);
    return 0;
}
