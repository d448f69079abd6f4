/* A lock of a futex, as in Drepper, Futexes are tricky (2011), section 6: 0 is free, 1 is held, 2 is held and others may wait.
   With an argument, who gives it back forgets to wake them. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int word;
static int counted, forgets;

static void count(void)
{
    int found = 0;
    if (!atomic_compare_exchange_strong(&word, &found, 1))
        while (atomic_exchange(&word, 2) != 0)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    counted++;
    if (atomic_exchange(&word, 0) == 2 && !forgets)
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *counts(void *unused)
{
    count();
    return unused;
}

int main(int arguments, char **unused)
{
    (void)unused;
    forgets = arguments > 1;
    pthread_t thread;
    pthread_create(&thread, NULL, counts, NULL);
    count();
    pthread_join(thread, NULL);
    return counted != 2;
}
