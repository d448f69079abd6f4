/* A wait for a futex compares and begins at once for all that wake: main's wake finds nobody while the word is 1, so the
   one that the other thread wakes began to wait behind main's last store. (No system call orders memory: the variable does
   that, which is stored twice.) */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int word, went, ready;
static int given, seen;

static long wake(void)
{
    return syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *waits(void *unused)
{
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return unused;
}

static void *takes(void *unused)
{
    while (!atomic_load(&went))
        ;
    if (wake() == 1 && atomic_load(&ready))
        seen = given; /* @takes */
    return unused;
}

int main(void)
{
    pthread_t waiter, taker;
    pthread_create(&waiter, NULL, waits, NULL);
    pthread_create(&taker, NULL, takes, NULL);
    atomic_store(&ready, 1);
    atomic_store(&word, 1);
    if (wake() != 0)
        _exit(0);
    atomic_store(&went, 1);
    given = 1; /* @gives */
    atomic_store(&ready, 1);
    atomic_store(&word, 0);
    pthread_join(taker, NULL);
    wake();
    pthread_join(waiter, NULL);
    return seen > 1;
}
