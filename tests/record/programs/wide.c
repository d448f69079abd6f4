/* Atomics of 128 bits. */
#include <assert.h>
#include <pthread.h>

typedef unsigned __int128 wide;
static _Alignas(16) wide counter, slot;

static void *work(void *unused)
{
    for (int i = 0; i < 40; i++) {
        wide seen = __atomic_load_n(&counter, __ATOMIC_SEQ_CST);
        while (!__atomic_compare_exchange_n(&counter, &seen, seen + (((wide)1 << 64) | 1), 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            ;
        __atomic_fetch_add(&slot, 3, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&slot, 1, __ATOMIC_RELAXED);
    }
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    wide end = __atomic_load_n(&counter, __ATOMIC_SEQ_CST);
    assert((unsigned long)end == 80 && (unsigned long)(end >> 64) == 80);
    assert((unsigned long)__atomic_exchange_n(&slot, (wide)9, __ATOMIC_SEQ_CST) == 160);
    __atomic_store_n(&slot, (wide)5 << 64, __ATOMIC_SEQ_CST);
    assert(__atomic_fetch_or(&slot, (wide)1, __ATOMIC_SEQ_CST) >> 64 == 5);
    return 0;
}
