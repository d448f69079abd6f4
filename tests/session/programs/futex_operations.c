/* Every futex operation that passes on a wake-up, for one argument each: whoever waits is woken, in whatever order they
 * run. With the last two, somebody may wait for ever. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint first, second;
static int data;

static void check(int ok)
{
    if (!ok)
        abort();
}

static long futex(atomic_uint *word, int operation, unsigned value, unsigned long other, atomic_uint *to, unsigned third)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, other, to, third);
}

/* Two threads wait for one word, each for its own stage. */
static void *at_stage(void *stage)
{
    unsigned wanted = (unsigned)(uintptr_t)stage, now;
    while ((now = atomic_load(&first)) < wanted)
        futex(&first, FUTEX_WAIT_BITSET, now, 0, NULL, 1u << wanted);
    data++;
    atomic_store(&first, wanted + 1);
    futex(&first, FUTEX_WAKE_BITSET, 1, 0, NULL, 1u << (wanted + 1));
    return NULL;
}

static void masks(void)
{
    pthread_t t[2];
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, at_stage, (void *)(2 - i));
    atomic_store(&first, 1);
    futex(&first, FUTEX_WAKE_BITSET, 1, 0, NULL, 1u << 1);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    check(data == 2);
}

/* A condition variable as they were once made of futexes: who waits is moved to the word of the lock. */
static void take(void)
{
    while (atomic_exchange(&second, 1))
        futex(&second, FUTEX_WAIT, 1, 0, NULL, 0);
}

static void give_back(void)
{
    atomic_store(&second, 0);
    futex(&second, FUTEX_WAKE, 1, 0, NULL, 0);
}

static void *waits_for_data(void *unused)
{
    take();
    while (!data) {
        unsigned now = atomic_load(&first);
        give_back();
        futex(&first, FUTEX_WAIT, now, 0, NULL, 0);
        take();
    }
    give_back();
    return unused;
}

static void moves(int operation)
{
    pthread_t t;
    pthread_create(&t, NULL, waits_for_data, NULL);
    take();
    data = 1;
    unsigned now = atomic_fetch_add(&first, 1) + 1;
    long moved = futex(&first, operation, 0, 1, &second, now);
    check(moved == 0 || moved == 1);
    give_back();
    pthread_join(t, NULL);
}

static void *waits_for_second(void *unused)
{
    while (!atomic_load(&second))
        futex(&second, FUTEX_WAIT, 0, 0, NULL, 0);
    data++;
    return unused;
}

static void changes(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waits_for_second, NULL);
    long woken = futex(&first, FUTEX_WAKE_OP, 1, 1, &second, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0));
    check(woken == 0 || woken == 1);
    check(atomic_load(&second) == 3);
    pthread_join(t, NULL);
    check(data == 1);
}

struct waiter {
    uint64_t expected, word;
    uint32_t flags, reserved;
};

static void *waits_for_both(void *unused)
{
    enum { of_32_bits = 2, system_call = 449 };
    struct waiter both[] = {{0, (uintptr_t)&first, of_32_bits | FUTEX_PRIVATE_FLAG, 0},
                            {0, (uintptr_t)&second, of_32_bits, 0}};
    long woken = syscall(system_call, both, 2, 0, NULL, 0);
    check(woken == 1 || (woken == -1 && errno == EAGAIN));
    check(atomic_load(&second));
    return unused;
}

static void several(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waits_for_both, NULL);
    atomic_store(&second, 1);
    long woken = futex(&second, FUTEX_WAKE, 1, 0, NULL, 0);
    check(woken == 0 || woken == 1);
    check(futex(&first, FUTEX_WAKE, 1, 0, NULL, 0) == 0);
    pthread_join(t, NULL);
}

static void *waits(void *unused)
{
    futex(&first, FUTEX_WAIT_BITSET, 0, 0, NULL, 1);
    return unused;
}

static void wrong_mask(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waits, NULL);
    atomic_store(&first, 1);
    futex(&first, FUTEX_WAKE_BITSET, 1, 0, NULL, 2);
    pthread_join(t, NULL);
}

static void forgotten(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waits, NULL);
    atomic_store(&first, 1);
    futex(&first, FUTEX_REQUEUE, 0, 1, &second, 0);
    futex(&first, FUTEX_WAKE, 1, 0, NULL, 0);
    pthread_join(t, NULL);
}

int main(int unused, char **arguments)
{
    switch (*arguments[1]) {
    case 'm': masks(); break;
    case 'r': moves(FUTEX_REQUEUE); break;
    case 'c': moves(FUTEX_CMP_REQUEUE); break;
    case 'o': changes(); break;
    case 's': several(); break;
    case 'w': wrong_mask(); break;
    case 'f': forgotten(); break;
    }
    return 0;
}
