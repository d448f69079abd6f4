/* Two blocks that occupy the same address one after the other are two objects.
 *
 * With a single arena, the second thread is given the address that the first gave back (the program
 * says so on standard error if it was not). The threads share nothing.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 4096 };

static void *first(void *unused)
{
    (void)unused;
    int *block = malloc(SIZE);
    block[8] = 1; /* @first */
    uintptr_t address = (uintptr_t)block;
    free(block);
    return (void *)address;
}

static void *second(void *unused)
{
    (void)unused;
    int *block = malloc(SIZE);
    block[8] = 2; /* @second */
    uintptr_t address = (uintptr_t)block;
    free(block);
    return (void *)address;
}

int main(void)
{
    pthread_t t, u;
    void *one, *two;
    mallopt(M_ARENA_MAX, 1);
    pthread_create(&t, NULL, first, NULL);
    pthread_create(&u, NULL, second, NULL);
    pthread_join(t, &one);
    pthread_join(u, &two);
    if (one != two)
        fputs("heap_reuse: the address was not reused in this run\n", stderr);
    return 0;
}
