/* A wait for a futex that only its time limit ends, and a thread that spins while another one sleeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word;
static atomic_int awake;

static void *spins(void *unused)
{
    while (!awake)
        sched_yield();
    return unused;
}

int main(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 3600;
    if (syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY) != -1)
        abort();
    if (errno != ETIMEDOUT)
        abort();
    pthread_t thread;
    pthread_create(&thread, NULL, spins, NULL);
    sleep(3600);
    awake = 1;
    return pthread_join(thread, NULL);
}
