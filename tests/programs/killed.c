/* One thread sends another one a signal and goes on, beside the handler. Where a schedule has the thread go round its loop
   a few times more before it handles the signal, the signal must not come earlier. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int done;
static int told, shared;

static void handler(int signal)
{
    if (told != 1) /* @told */
        signal = 0;
    shared = signal; /* @handled */
    atomic_store(&done, 1);
}

static void *work(void *unused)
{
    while (!atomic_load(&done))
        ;
    return unused;
}

int main(void)
{
    signal(SIGUSR1, handler);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    told = 1; /* @tells */
    pthread_kill(thread, SIGUSR1);
    shared = 2; /* @goes_on */
    pthread_join(thread, NULL);
    return 0;
}
