/* A counter without a lock: an update that is lost shows in the exit status, or, with an argument, kills the program. */
#include <pthread.h>
#include <stdlib.h>

static int hits;

static void *count(void *u) {
    hits++;
    return u;
}

int main(int arguments, char **words) {
    pthread_t t[2];
    (void)words;
    pthread_create(&t[0], 0, count, 0);
    pthread_create(&t[1], 0, count, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    if (hits != 2 && arguments > 1)
        abort();
    return hits != 2 ? 7 : 0;
}
