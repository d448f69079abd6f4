/* Signal handlers that look at the context that they get, and change it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

extern char __executable_start, etext;

static sigjmp_buf back;
static volatile long sum, seen, in_program, escaped;
static volatile double half = 0.5;
static pthread_t computing;

static void check(int ok) {
    if (!ok)
        abort();
}

/* Where a handler sends the program. */
static void escape(void) {
    escaped++;
    siglongjmp(back, 1);
}

static void send_to_escape(int number, siginfo_t *info, void *given) {
    ucontext_t *context = given;
    greg_t *registers = context->uc_mcontext.gregs;
    char *at = (char *)registers[REG_RIP];
    in_program += &__executable_start <= at && at < &etext;
    seen++;
    registers[REG_RIP] = (greg_t)escape;
    registers[REG_RSP] = ((registers[REG_RSP] - 256) & -16) - 8;
}

static void block_another(int number, siginfo_t *info, void *given) {
    ucontext_t *context = given;
    seen++;
    check(context->uc_mcontext.fpregs && context->uc_mcontext.fpregs->mxcsr);
    sigaddset(&context->uc_sigmask, SIGUSR2);
}

static void only_looks(int number, siginfo_t *info, void *given) { seen++; }

static void handle(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    check(sigaction(number, &action, 0) == 0);
}

static void *sender(void *unused) {
    usleep(2000);
    check(pthread_kill(computing, SIGUSR1) == 0);
    return unused;
}

static __attribute__((noinline)) void compute(void) {
    double kept = half;
    while (1) {
        sum++;
        for (int i = 0; i < 2000; i++)
            __asm__ volatile("" : "+x"(kept));
        kept *= half;
    }
}

int main(void) {
    /* Sent by itself, and by another thread while it computes for ever. */
    handle(SIGUSR1, send_to_escape);
    if (!sigsetjmp(back, 1)) {
        raise(SIGUSR1);
        abort();
    }
    check(escaped == 1);
    computing = pthread_self();
    for (int round = 1; round <= 5; round++) {
        pthread_t thread;
        pthread_create(&thread, 0, sender, 0);
        if (!sigsetjmp(back, 1)) {
            compute();
            abort();
        }
        pthread_join(thread, 0);
        check(escaped == round + 1);
    }
    /* What raise itself is made of is not the program. */
    check(seen == 6 && in_program >= 5);

    /* The mask of afterwards. */
    sigset_t set;
    handle(SIGUSR1, block_another);
    handle(SIGUSR2, only_looks);
    seen = 0;
    raise(SIGUSR1);
    pthread_sigmask(SIG_BLOCK, 0, &set);
    check(seen == 1 && sigismember(&set, SIGUSR2) && !sigismember(&set, SIGUSR1));
    raise(SIGUSR2);
    check(seen == 1);
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, &set, 0);
    check(seen == 2);
    return 0;
}
