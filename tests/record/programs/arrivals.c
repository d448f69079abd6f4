/* Signals come while their thread is on its way into a wait: in the kernel, where it has just given up the right to run, and on
 * a semaphore, for which it looked up before the signal came. None may be put off until the wait ends, which none but the
 * handler ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

enum { ROUNDS = 300 };

static sem_t handled, own;

static void on_first(int signal)
{
    sem_post(&handled);
}

static void on_second(int signal)
{
    sem_post(&own);
}

static void *waits_for_signal(void *last)
{
    int signal;
    sigwait(last, &signal);
    return 0;
}

static void *waits_for_handler(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&own);
        sem_post(&handled);
    }
    return unused;
}

int main(void)
{
    /* Instead of standing still for ever. */
    alarm(20);
    /* On one processor, whoever is woken often runs before the one that woke it goes on. */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);

    sigset_t last;
    sigemptyset(&last);
    sigaddset(&last, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &last, 0);
    sem_init(&handled, 0, 0);
    sem_init(&own, 0, 0);
    signal(SIGUSR1, on_first);
    signal(SIGUSR2, on_second);

    pthread_t waiter;
    pthread_create(&waiter, 0, waits_for_signal, &last);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_kill(waiter, SIGUSR1);
        sem_wait(&handled);
    }
    pthread_kill(waiter, SIGHUP);
    pthread_join(waiter, 0);

    pthread_create(&waiter, 0, waits_for_handler, 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_kill(waiter, SIGUSR2);
        sem_wait(&handled);
    }
    pthread_join(waiter, 0);
    return 0;
}
