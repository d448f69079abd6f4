// The handler of a signal, which another thread sends, writes what main writes: no lock protects it, and nothing orders
// the two.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile int interrupted;
static volatile sig_atomic_t handled;

static void handle(int number)
{
    interrupted = number; /* @write */
    handled = 1;
}

static void *work(void *unused)
{
    struct timespec nap = {0, 1000000};
    while (!handled)
        nanosleep(&nap, NULL);
    return unused;
}

int main(void)
{
    pthread_t thread;
    interrupted = 0;
    signal(SIGUSR1, handle);
    pthread_create(&thread, NULL, work, NULL);
    pthread_kill(thread, SIGUSR1);
    interrupted = 1; /* @read */
    pthread_join(thread, NULL);
    return 0;
}
