/* Signals that the runtime puts off until its thread's next hook are blocked as the kernel would have them: a handler's own mask holds
 * while it runs, also for what came before it, and what the program blocks meanwhile waits.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROUNDS = 20 };

static volatile int inside, handled[2], critical, late, wrong;
static sem_t ready, go;
static int shared;

__attribute__((noinline)) static void work(int i)
{
    shared += i;
}

/* Says where the thread is before it comes to a hook. */
__attribute__((no_sanitize_thread, noinline)) static void set(volatile int *what, int to)
{
    *what = to;
}

__attribute__((no_sanitize_thread)) static void on_either(int signal)
{
    if (inside)
        wrong |= 1;
    set(&inside, 1);
    for (int i = 0; i < 10; i++)
        work(i);
    set(&inside, 0);
    handled[signal == SIGUSR2]++;
}

static void on_alarm(int signal)
{
    if (critical)
        wrong |= 2;
    late++;
}

static void *receiver(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        sem_post(&ready);
        sem_wait(&go);
    }
    return unused;
}

static void spin(unsigned long cycles)
{
    unsigned long end = __builtin_ia32_rdtsc() + cycles;
    while (__builtin_ia32_rdtsc() < end)
        ;
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_either;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    signal(SIGALRM, on_alarm);
    sem_init(&ready, 0, 0);
    sem_init(&go, 0, 0);

    /* Both come before the receiver has its next turn. */
    pthread_t thread;
    pthread_create(&thread, NULL, receiver, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        sem_wait(&ready);
        pthread_kill(thread, i % 2 ? SIGUSR1 : SIGUSR2);
        pthread_kill(thread, i % 2 ? SIGUSR2 : SIGUSR1);
        usleep(1000);
        sem_post(&go);
    }
    pthread_join(thread, NULL);

    /* It comes where there is no hook, and then the program blocks it. */
    sigset_t alarm, before;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    for (int i = 0; i < ROUNDS; i++) {
        struct itimerval soon = {{0, 0}, {0, 500}};
        setitimer(ITIMER_REAL, &soon, NULL);
        spin(6000000);
        pthread_sigmask(SIG_BLOCK, &alarm, &before);
        set(&critical, 1);
        work(i);
        set(&critical, 0);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        while (late <= i)
            ;
    }
    if (handled[0] == 0 || handled[1] == 0)
        wrong |= 4;
    return wrong;
}
