/* Two threads wait for a futex, and a third one wakes both. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int word;
static int beside;

static void *waits(void *unused)
{
    while (atomic_load(&word) == 0)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    beside = 1;
    return unused;
}

static void *wakes(void *unused)
{
    usleep(20000);
    atomic_store(&word, 1);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);
    beside = 2;
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, waits, NULL);
    pthread_create(&threads[1], NULL, waits, NULL);
    pthread_create(&threads[2], NULL, wakes, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
