/* Signal handlers set by each function that sets one; the signals come while the thread sleeps. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*handler)(int);

extern handler __sysv_signal(int, handler), sysv_signal(int, handler), bsd_signal(int, handler), ssignal(int, handler);

static volatile int kind, handled;

static void handle(int number) {
    handled = 0x7700 + kind;
}

static void check(int ok) {
    if (!ok)
        abort();
}

static handler now(int number) {
    struct sigaction action;
    check(sigaction(number, 0, &action) == 0);
    return action.sa_handler;
}

int main(void) {
    handler (*set[])(int, handler) = {signal, bsd_signal, ssignal, sysv_signal, __sysv_signal, sigset};
    for (kind = 1; kind <= 6; kind++) {
        check(set[kind - 1](SIGALRM, handle) == SIG_DFL);
        ualarm(20000, 0);
        /* Until the signal comes. */
        while (handled != 0x7700 + kind)
            usleep(1000);
        int once = kind == 4 || kind == 5;
        check(now(SIGALRM) == (once ? SIG_DFL : handle));
        check(signal(SIGALRM, SIG_DFL) == (once ? SIG_DFL : handle));
    }
    check(sigset(SIGUSR1, SIG_HOLD) == SIG_DFL && sigset(SIGUSR1, handle) == SIG_HOLD && now(SIGUSR1) == handle);
    check(sigset(SIGUSR1, SIG_DFL) == handle && sigset(1000, handle) == SIG_ERR);
    check(sigignore(SIGUSR2) == 0 && now(SIGUSR2) == SIG_IGN && sigignore(1000) == -1);
    return 0;
}
