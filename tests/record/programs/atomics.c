// Atomic operations of every size and kind, and a loop that waits for one.
#include <pthread.h>
#include <stdint.h>

static uint8_t a8; static uint16_t a16; static uint32_t a32; static uint64_t a64;
static int go;

#define ALL(x, type) do { \
    type e = __atomic_load_n(&x, __ATOMIC_ACQUIRE); \
    __atomic_compare_exchange_n(&x, &e, e + 3, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED); \
    __atomic_store_n(&x, e, __ATOMIC_RELEASE); \
    __atomic_exchange_n(&x, e + 1, __ATOMIC_SEQ_CST); \
    __atomic_fetch_add(&x, 5, __ATOMIC_RELAXED); __atomic_fetch_sub(&x, 1, __ATOMIC_RELAXED); \
    __atomic_fetch_or(&x, 9, __ATOMIC_RELAXED); __atomic_fetch_and(&x, 0x7d, __ATOMIC_RELAXED); \
    __atomic_fetch_xor(&x, 0x11, __ATOMIC_RELAXED); __atomic_fetch_nand(&x, 0x3c, __ATOMIC_RELAXED); \
    __atomic_thread_fence(__ATOMIC_SEQ_CST); } while (0)

static void *work(void *unused) {
    while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) {}
    for (int i = 0; i < 50; i++) { ALL(a8, uint8_t); ALL(a16, uint16_t); ALL(a32, uint32_t); ALL(a64, uint64_t); }
    return unused;
}

int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
