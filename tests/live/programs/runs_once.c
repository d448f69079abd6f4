/* Two threads wait for a signal whose handler runs once. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t stops;
static int shared;

static void handler(int signal)
{
    stops = signal;
}

static void *waits(void *value)
{
    while (!stops)
        usleep(1000);
    shared = *(int *)value;
    return value;
}

int main(void)
{
    static int values[2] = {1, 2};
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESETHAND};
    if (sigaction(SIGTERM, &action, NULL) != 0)
        abort();
    if (close(open("ready", O_CREAT | O_WRONLY, 0600)) != 0)
        abort();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, waits, &values[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    /* It is the default action again. */
    if (sigaction(SIGTERM, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
        abort();
    return 0;
}
