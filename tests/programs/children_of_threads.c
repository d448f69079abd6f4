/* Children that threads start, by fork and vfork, hand over what was written before that to whoever is told of their end;
   so do the signals of their end, and those that they send. What is written after a child was started is not handed over
   by its end. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int to_child[2], own[2];
static pid_t waits;
static int by_fork, by_vfork, by_death, by_signal, beside;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void await_answer(void)
{
    char byte;
    must(read(own[0], &byte, 1) == 1);
}

static void answer(void)
{
    must(write(own[1], "a", 1) == 1);
}

static void *starts(void *unused)
{
    by_fork = 1; /* @forks */
    pid_t child = fork();
    must(child >= 0);
    if (child == 0)
        _exit(0);
    beside = 1; /* @beside_child */
    await_answer();
    by_vfork = 1; /* @vforks */
    child = vfork();
    must(child >= 0);
    if (child == 0)
        _exit(0);
    await_answer();
    by_death = 1; /* @kills */
    must(kill(waits, SIGTERM) == 0);
    await_answer();
    by_signal = 1; /* @asks */
    must(write(to_child[1], "u", 1) == 1);
    return unused;
}

static void *is_told(void *unused)
{
    const struct timespec none = {0, 0};
    int status, signal;
    sigset_t set;
    while (wait(&status) < 0)
        usleep(1000);
    beside = 2; /* @beside_end */
    must(by_fork == 1); /* @sees_fork */
    answer();
    while (waitpid(-1, &status, WNOHANG) <= 0)
        usleep(1000);
    must(by_vfork == 1); /* @sees_vfork */
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    while (sigtimedwait(&set, NULL, &none) > 0)
        ;
    answer();
    must(sigwait(&set, &signal) == 0 && signal == SIGCHLD);
    must(by_death == 1); /* @sees_death */
    answer();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    must(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    must(by_signal == 1); /* @sees_signal */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pid_t parent = getpid(), sends;
    sigset_t set;
    char byte;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGUSR1);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    must(pipe(to_child) == 0 && pipe(own) == 0);
    sends = fork();
    must(sends >= 0);
    if (sends == 0) {
        close(to_child[1]);
        if (read(to_child[0], &byte, 1) == 1)
            kill(parent, SIGUSR1);
        for (;;)
            pause();
    }
    waits = fork();
    must(waits >= 0);
    if (waits == 0)
        for (;;)
            pause();
    pthread_create(&threads[0], NULL, starts, NULL);
    pthread_create(&threads[1], NULL, is_told, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    must(kill(sends, SIGKILL) == 0);
    return 0;
}
