/* A block with a count of who uses it; who is the last frees it. And a note that is passed on by a flag. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef DROPS
#define DROPS memory_order_release
#endif
#ifndef FENCE
#define FENCE memory_order_acquire
#endif
#ifndef SAYS
#define SAYS memory_order_release
#endif

struct block {
    atomic_int users;
    int value;
};

static int note;
static atomic_int noted;

static void drop(struct block *block) {
    if (atomic_fetch_sub_explicit(&block->users, 1, DROPS) == 1) {
        atomic_thread_fence(FENCE);
        free(block);
    }
}

static void *work(void *argument) {
    struct block *block = argument;
    note = block->value;
    atomic_store_explicit(&noted, 1, SAYS);
    drop(block);
    return NULL;
}

int main(void) {
    struct block *block = malloc(sizeof *block);
    block->value = 1;
    atomic_init(&block->users, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, work, block);
    int mine = block->value;
    if (atomic_load_explicit(&noted, memory_order_acquire))
        mine += note;
    drop(block);
    pthread_join(thread, NULL);
    return mine == 0;
}
