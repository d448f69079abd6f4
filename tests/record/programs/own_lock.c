/* A lock of the program's own: functions with atomic operations and system calls, and a static variable under it. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint first, second;
static int data;

static long futex(atomic_uint *word, int operation, unsigned value)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, 0, 0, 0);
}

static void take(void)
{
    while (atomic_exchange(&second, 1))
        futex(&second, FUTEX_WAIT, 1);
}

static void give_back(void)
{
    atomic_store(&second, 0);
    futex(&second, FUTEX_WAKE, 1);
}

static void *waits_for_data(void *unused)
{
    take();
    for (int i = 0; !data; i++) {
        give_back();
        if (i == 1000000)
            abort();
        take();
    }
    give_back();
    return unused;
}

static void *writes(void *unused)
{
    take();
    data = 1;
    give_back();
    return unused;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, waits_for_data, NULL);
    pthread_create(&u, NULL, writes, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
