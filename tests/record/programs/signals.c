/* Signal handlers that access what the program accesses, whatever their thread is doing. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t raised, ticks, stop;
static sem_t posted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum, numbers[64];

static void check(int ok) {
    if (!ok)
        abort();
}

static void on_usr1(int number) {
    check(number == SIGUSR1);
    raised++;
}

static void on_alarm(int number, siginfo_t *info, void *context) {
    check(number == SIGALRM && info->si_signo == SIGALRM && context);
    for (int i = 0; i < 64; i++)
        numbers[i] = ++sum;
    ticks++;
}

static void on_usr2(int number) {
    stop = 1;
    sem_post(&posted);
}

/* Until the main thread, which waits for it, gets a signal. */
static void *polls(void *main_thread) {
    usleep(2000);
    check(pthread_kill(*(pthread_t *)main_thread, SIGUSR2) == 0);
    while (!stop)
        usleep(500);
    return NULL;
}

static void *holds(void *arg) {
    pthread_mutex_lock(&lock);
    usleep(5000);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    struct sigaction action, old;
    signal(SIGUSR1, on_usr1);
    check(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == on_usr1);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    check(raised == 2);

    /* Blocked, and let in later. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    check(raised == 2);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    check(raised == 3);
    check(signal(SIGUSR1, SIG_IGN) == on_usr1);
    raise(SIGUSR1);
    check(raised == 3);

    /* In the middle of computing. */
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_alarm;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < 20)
        for (int i = 0; i < 64; i++)
            numbers[i] = numbers[(i + 1) % 64] + sum;
    /* Asleep, and waiting for a lock. */
    pthread_t thread;
    int before = ticks;
    while (ticks == before)
        usleep(3000);
    pthread_create(&thread, NULL, holds, NULL);
    usleep(1000);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    setitimer(ITIMER_REAL, &never, NULL);

    /* While the thread that waits for another one must handle it, or none goes on. */
    signal(SIGUSR2, on_usr2);
    sem_init(&posted, 0, 0);
    pthread_t self = pthread_self();
    pthread_create(&thread, NULL, polls, &self);
    pthread_join(thread, NULL);
    check(sem_wait(&posted) == 0 || errno == EINTR);
    return 0;
}
