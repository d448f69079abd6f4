/* Two threads store into one variable, and write to their own stacks in between. */
#include <pthread.h>

static _Atomic int x;

static void own(volatile int *here)
{
    *here += 1;
    *here += 1;
}

static void *writer(void *argument)
{
    volatile int here = 0;
    for (int i = 0; i < 4; i++) {
        own(&here);
        x = i;
    }
    return argument;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, writer, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
