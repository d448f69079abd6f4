/* A wake of all that wait for a futex wakes them as they came, under every policy: else a live run would wake others. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int word;
static int handed, unordered;

static void *waits(void *number)
{
    while (atomic_load(&word) == 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    if (number)
        unordered = 1; /* @woken */
    else
        handed++; /* @takes */
    return number;
}

int main(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, waits, (void *)i);
    usleep(2000);
    handed = 1; /* @hands */
    atomic_store(&word, 1);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0);
    unordered = 2; /* @wakes */
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
