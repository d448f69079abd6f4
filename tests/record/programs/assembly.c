/* Inline assembly that accesses memory in every way that is recorded. Each operation checks what it got, and what it was
 * not to change: registers and flags. The counters at the end show that none got lost. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 20, THREADS = 2 };

static uint8_t bytes, own_bytes[THREADS];
static uint16_t words, own_words[THREADS];
static uint32_t longs, bits[4], lock, guarded, kept;
static uint64_t quads;
static _Alignas(16) uint64_t pair[2];
static uint64_t turn;
static volatile uint64_t said[THREADS];

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__))

static void fail(int line) {
    printf("line %d\n", line);
    exit(1);
}

static uint32_t compare_exchange(uint32_t *at, uint32_t expected, uint32_t new, uint8_t *equal) {
    __asm__ volatile("lock; cmpxchgl %3, %1; sete %2" : "+a"(expected), "+m"(*at), "=q"(*equal) : "r"(new) : "memory", "cc");
    return expected;
}

static uint32_t exchange(uint32_t *at, uint32_t new) {
    __asm__ volatile("xchgl %0, %1" : "+r"(new), "+m"(*at) : : "memory");
    return new;
}

static uint64_t load(uint64_t *at) {
    uint64_t value;
    __asm__ volatile("movq (%1), %0" : "=r"(value) : "r"(at) : "memory");
    return value;
}

static void store(uint32_t *at, uint32_t value) {
    __asm__ volatile("movl %1, (%0)" : : "r"(at), "r"(value) : "memory");
}

static int compare_exchange_pair(uint64_t *at, uint64_t low, uint64_t high) {
    uint64_t old_low = low - 1, old_high = high - 1;
    uint8_t equal;
    __asm__ volatile("lock; cmpxchg16b %1; sete %0"
                     : "=q"(equal), "+m"(*(__int128 *)at), "+a"(old_low), "+d"(old_high)
                     : "b"(low), "c"(high) : "memory", "cc");
    return equal;
}

/* Fills all registers but two, changes memory, and adds them up again. The carry, which `inc` leaves alone, too. */
static void changes_nothing_else(void) {
    uint64_t sum, vectors, upper;
    uint8_t carry;
    __asm__ volatile(
        "movq $1, %%rax; movq $2, %%rbx; movq $4, %%rcx; movq $8, %%rdx; movq $16, %%rsi; movq $32, %%rdi\n\t"
        "movq $64, %%r8; movq $128, %%r9; movq $256, %%r10; movq $512, %%r11; movq $1024, %%r12; movq $2048, %%r13\n\t"
        "movq $4096, %%r14; movq $8192, %%r15\n\t"
        "movq %%rax, %%xmm0; movq %%rbx, %%xmm1; movq %%rcx, %%xmm2; movq %%rdx, %%xmm3; movq %%rsi, %%xmm4\n\t"
        "movq %%rdi, %%xmm5; movq %%r8, %%xmm6; movq %%r9, %%xmm7; movq %%r10, %%xmm8; movq %%r11, %%xmm9\n\t"
        "movq %%r12, %%xmm10; movq %%r13, %%xmm11; movq %%r14, %%xmm12; movq %%r15, %%xmm13\n\t"
        "stc\n\t"
        "lock; incl kept(%%rip)\n\t"
        "leaq (%%rax, %%rdx), %%rax; setc %%dl\n\t"
        "addq %%rbx, %%rax; addq %%rcx, %%rax; addq %%rsi, %%rax; addq %%rdi, %%rax\n\t"
        "addq %%r8, %%rax; addq %%r9, %%rax; addq %%r10, %%rax; addq %%r11, %%rax; addq %%r12, %%rax\n\t"
        "addq %%r13, %%rax; addq %%r14, %%rax; addq %%r15, %%rax\n\t"
        "paddq %%xmm1, %%xmm0; paddq %%xmm2, %%xmm0; paddq %%xmm3, %%xmm0; paddq %%xmm4, %%xmm0\n\t"
        "paddq %%xmm5, %%xmm0; paddq %%xmm6, %%xmm0; paddq %%xmm7, %%xmm0; paddq %%xmm8, %%xmm0\n\t"
        "paddq %%xmm9, %%xmm0; paddq %%xmm10, %%xmm0; paddq %%xmm11, %%xmm0; paddq %%xmm12, %%xmm0\n\t"
        "paddq %%xmm13, %%xmm0; movq %%xmm0, %%rbx"
        : "=&a"(sum), "=&b"(vectors), "=&d"(carry)
        :
        : "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2",
          "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "memory", "cc");
    CHECK(sum == 16383 && vectors == 16383 && carry == 1);
    if (__builtin_cpu_supports("avx2")) {
        __asm__ volatile("vpcmpeqd %%ymm9, %%ymm9, %%ymm9; lock; incl kept(%%rip); vextracti128 $1, %%ymm9, %%xmm0\n\t"
                         "vmovq %%xmm0, %0; vzeroupper"
                         : "=r"(upper) : : "xmm0", "xmm9", "memory", "cc");
        CHECK(upper == UINT64_MAX);
    }
}

/* A leaf, since it calls no hooks: its variables lie below the stack pointer. */
static __attribute__((noinline, no_sanitize("thread"))) uint32_t below_the_stack(uint32_t value) {
    volatile uint32_t local[8];
    for (int i = 0; i < 8; i++)
        local[i] = value + i;
    __asm__ volatile("lock; incl %0" : "+m"(kept) : : "memory", "cc");
    uint32_t sum = 0;
    for (int i = 0; i < 8; i++)
        sum += local[i];
    return sum;
}

/* Spins until it is the thread's turn, and notes each time what it has loaded. */
static void take_turns(uintptr_t thread) {
    for (;;) {
        said[thread] = load(&turn);
        if (said[thread] % THREADS == thread)
            break;
        __asm__ volatile("rep; nop");
    }
    __asm__ volatile("lock; incq %0" : "+m"(turn) : : "memory", "cc");
}

static void *work(void *number) {
    uintptr_t thread = (uintptr_t)number;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        __asm__ volatile("lock; addb $3, %0" : "+m"(bytes) : : "memory", "cc");
        __asm__ volatile("lock; subw %1, %0" : "+m"(words) : "r"((uint16_t)5) : "memory", "cc");
        uint32_t added = 7;
        __asm__ volatile("lock; xaddl %0, %1" : "+r"(added), "+m"(longs) : : "memory", "cc");
        CHECK(added % 7 == 0);
        __asm__ volatile("lock; decq %0" : "+m"(quads) : : "memory", "cc");
        uint8_t is_zero;
        __asm__ volatile("lock; notb %0; lock; negw %1; lock; negw %1; lock; notb %0; lock; orl $0, %2; sete %3"
                         : "+m"(own_bytes[thread]), "+m"(own_words[thread]), "+m"(longs), "=q"(is_zero) : : "memory", "cc");
        CHECK(!is_zero && own_bytes[thread] == 0 && own_words[thread] == 0);
        uint8_t was_set;
        uint32_t bit = 32 + round + (uint32_t)thread * 40;
        __asm__ volatile("lock; btsl %2, %0; setc %1" : "+m"(bits[0]), "=q"(was_set) : "r"(bit) : "memory", "cc");
        CHECK(!was_set);
        __asm__ volatile("lock; btrl %2, %0; setc %1" : "+m"(bits[0]), "=q"(was_set) : "r"(bit) : "memory", "cc");
        CHECK(was_set);

        uint8_t taken;
        do {
            CHECK(compare_exchange(&lock, 0, 1, &taken) == !taken);
            if (!taken)
                __asm__ volatile("rep; nop");
        } while (!taken);
        guarded++;
        store(&lock, 0);
        CHECK(exchange(&bits[3], round) < ROUNDS);
        __asm__ volatile("mfence; lock; addl $0, (%%rsp)" : : : "memory", "cc");
        while (!compare_exchange_pair(pair, load(&pair[0]) + 1, load(&pair[1]) + 1))
            ;
        take_turns(thread);
        changes_nothing_else();
        CHECK(below_the_stack(round) == 8 * round + 28);
    }
    return NULL;
}

int main(void) {
    quads = 1000;
    longs = 7;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(bytes == (uint8_t)(3 * ROUNDS * THREADS) && words == (uint16_t)(-5 * ROUNDS * THREADS));
    CHECK(longs == 7 + 7 * ROUNDS * THREADS && quads == 1000 - ROUNDS * THREADS && guarded == ROUNDS * THREADS);
    CHECK(pair[0] == ROUNDS * THREADS && pair[1] == ROUNDS * THREADS);
    CHECK(bits[0] == 0 && bits[1] == 0 && bits[2] == 0);
}
