// Two threads hand numbers to each other in a queue of three, and wait in loops for room and for numbers: each turn
// reads several variables, passes a fence, and writes to the stack of a function that is called anew.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ROOM = 3, NUMBERS = 3000 };

static atomic_uint head, tail;
static unsigned places[ROOM];

__attribute__((noinline)) static void order(volatile unsigned *written) {
    *written = 0;
    atomic_thread_fence(memory_order_seq_cst);
}

__attribute__((noinline)) static bool push(unsigned number) {
    unsigned at = atomic_load_explicit(&tail, memory_order_relaxed);
    volatile unsigned written;
    order(&written);
    if (at - atomic_load_explicit(&head, memory_order_acquire) == ROOM) return false;
    places[at % ROOM] = number;
    atomic_store_explicit(&tail, at + 1, memory_order_release);
    return true;
}

__attribute__((noinline)) static bool pop(unsigned *number) {
    unsigned at = atomic_load_explicit(&head, memory_order_relaxed);
    volatile unsigned written;
    order(&written);
    if (at == atomic_load_explicit(&tail, memory_order_acquire)) return false;
    *number = places[at % ROOM];
    atomic_store_explicit(&head, at + 1, memory_order_release);
    return true;
}

static void *pushes(void *unused) {
    for (unsigned number = 0; number < NUMBERS; number++)
        while (!push(number)) ;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, pushes, NULL);
    for (unsigned number = 0; number < NUMBERS; number++) {
        unsigned popped;
        while (!pop(&popped)) ;
        assert(popped == number);
    }
    pthread_join(thread, NULL);
    return 0;
}
