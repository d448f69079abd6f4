/* Counters, a spin lock and a stack without locks, by C11 atomics; four threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 300000, THREADS = 4, NODES = 1024 };

static atomic_ulong total, histogram[64];
static atomic_flag spin = ATOMIC_FLAG_INIT;
static unsigned long guarded;
/* Free places, as a list of indices; the upper half counts changes. */
static atomic_ulong top;
static atomic_uint below[NODES];

static unsigned pop(void) {
    unsigned long old = atomic_load_explicit(&top, memory_order_acquire);
    for (;;) {
        unsigned index = (unsigned)old;
        if (index == 0)
            return 0;
        unsigned long new = (old >> 32) + 1 << 32 | atomic_load_explicit(&below[index], memory_order_relaxed);
        if (atomic_compare_exchange_weak(&top, &old, new))
            return index;
    }
}

static void push(unsigned index) {
    unsigned long old = atomic_load_explicit(&top, memory_order_relaxed), new;
    do {
        atomic_store_explicit(&below[index], (unsigned)old, memory_order_relaxed);
        new = (old >> 32) + 1 << 32 | index;
    } while (!atomic_compare_exchange_weak(&top, &old, new));
}

static void *work(void *argument) {
    uint64_t random = (uint64_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        atomic_fetch_add(&total, 1);
        atomic_fetch_add_explicit(&histogram[random >> 58], 1, memory_order_relaxed);
        unsigned index = pop();
        if (index)
            push(index);
        if (i % 16 == 0) {
            while (atomic_flag_test_and_set_explicit(&spin, memory_order_acquire))
                ;
            guarded++;
            atomic_flag_clear_explicit(&spin, memory_order_release);
        }
    }
    return NULL;
}

int main(void) {
    for (unsigned i = 1; i < NODES; i++)
        push(i);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%lu %lu\n", atomic_load(&total), guarded);
}
