// Threads look at their numbers, which the kernel gives out anew in each run, send a signal to the process by its own,
// and count.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic int count;
static _Atomic int numbers;

static void *work(void *argument)
{
    atomic_fetch_add(&numbers, gettid() != getpid());
    if (atomic_fetch_add(&count, 1) == 0)
        atomic_fetch_add(&count, 1);
    return argument;
}

int main(void)
{
    pthread_t first, second;
    if (gettid() != getpid() || kill(getpid(), 0))
        abort();
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, work, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return atomic_load(&numbers) == 2 ? 0 : 1;
}
