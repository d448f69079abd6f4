/* Two threads that fill memory of their own for a while: an analysis takes longer than a moment. */
#include <pthread.h>

enum { WORDS = 1000, ROUNDS = 200 };
static volatile int words[2][WORDS];

static void *fills(void *of)
{
    volatile int *own = of;
    for (int round = 0; round < ROUNDS; round++)
        for (int at = 0; at < WORDS; at++)
            own[at] += at * round;
    return of;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, fills, (void *)words[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
