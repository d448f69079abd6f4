/* A signal comes while its thread sleeps in a call that the runtime does not know, before the right to run is taken from it. Only
 * the signal's handler ends the call, which goes on after it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 20 };

/* As a library without instrumentation would. */
static long lock(int file, long operation)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_flock), "D"((long)file), "S"(operation) : "rcx", "r11", "memory");
    return result;
}

static int held;
static atomic_int done;

static void on_alarm(int signal)
{
    lock(held, LOCK_UN);
}

static void *other(void *unused)
{
    time_t end = time(NULL) + 20;
    while (!done)
        if (time(NULL) > end)
            _exit(9);
    return unused;
}

int main(void)
{
    char name[] = "/tmp/put_off_XXXXXX";
    held = mkstemp(name);
    int wanted = open(name, O_RDWR);
    unlink(name);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        lock(held, LOCK_EX);
        struct itimerval soon = {{0, 0}, {0, 300}};
        setitimer(ITIMER_REAL, &soon, NULL);
        if (lock(wanted, LOCK_EX) != 0)
            return 1;
        lock(wanted, LOCK_UN);
    }
    done = 1;
    pthread_join(thread, NULL);
    return 0;
}
