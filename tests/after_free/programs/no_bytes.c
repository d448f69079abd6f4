// A thread frees blocks, is given one of no bytes in the place of one of them, and hands that over: nobody uses what was freed.
#include <pthread.h>
#include <stdlib.h>

static void *replaces(void *argument)
{
    (void)argument;
    // More than the allocator keeps for the thread alone.
    char *blocks[20];
    for (int at = 0; at < 20; at++)
        blocks[at] = malloc(8);
    for (int at = 0; at < 20; at++)
        free(blocks[at]);
    return malloc(0);
}

int main(void)
{
    pthread_t thread;
    void *block;
    pthread_create(&thread, NULL, replaces, NULL);
    pthread_join(thread, &block);
    free(block);
    return 0;
}
