/* What the long programs beside this file share: threads that work for long on memory of their own, and count under a lock what they have done. */
#include "../threads.h"

/* Of each thread; all programs have a few. */
#ifndef ITEMS
#define ITEMS 1000
#endif
#define STEPS_OF_AN_ITEM 40

static unsigned char own_memory[8][64];
static mutex progress_lock = MUTEX;
static int progress;

/* Some 85 events. */
static void work_on(intptr_t number, int item)
{
    for (int i = 0; i < STEPS_OF_AN_ITEM; i++)
        own_memory[number][(i + item) % 64]++;
    lock(&progress_lock);
    progress++;
    unlock(&progress_lock);
}
