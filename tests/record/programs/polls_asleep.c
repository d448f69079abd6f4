// A thread waits for half a second for the kernel, and main sleeps again and again until it has done so.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

static atomic_int done;

static void *waits(void *argument)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec half_a_second = {.it_value = {.tv_nsec = 500000000}};
    uint64_t times;
    if (timerfd_settime(timer, 0, &half_a_second, NULL) != 0 || read(timer, &times, sizeof times) != sizeof times)
        _exit(2);
    atomic_store(&done, 1);
    return argument;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    while (!atomic_load(&done))
        usleep(100000);
    return pthread_join(thread, NULL);
}
