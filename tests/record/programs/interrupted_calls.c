/* Threads that wait for a channel in the kernel, and what ends that: a handler, unless it lets the call go on; a limit in
 * time; being cancelled; the other end's being closed; nothing at all, where no byte is asked for. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { READ, RECEIVE, COUNT, WRITE, KINDS };

static int ends[2], full[2], pair[2], counter;
static volatile sig_atomic_t handled;
static char page[4096];

static void check(int ok) {
    if (!ok)
        abort();
}

static void handle(int number) {
    handled += number == SIGUSR1;
}

static void let_go_on(int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = flags;
    check(sigaction(SIGUSR1, &action, NULL) == 0);
}

struct call {
    int kind, error;
    long result;
    volatile int done;
};

static void *make(void *argument) {
    struct call *call = argument;
    char byte;
    uint64_t count;
    switch (call->kind) {
    case READ: call->result = read(ends[0], &byte, 1); break;
    case RECEIVE: call->result = recv(pair[0], &byte, 1, 0); break;
    case COUNT: call->result = eventfd_read(counter, &count) == 0 ? 1 : -1; break;
    case WRITE: call->result = write(full[1], page, 1); break;
    }
    call->error = call->result < 0 ? errno : 0;
    call->done = 1;
    return NULL;
}

static void lets_go_on(int kind) {
    long done = 0;
    switch (kind) {
    case READ: done = write(ends[1], page, 1); break;
    case RECEIVE: done = send(pair[1], page, 1, 0); break;
    case COUNT: done = eventfd_write(counter, 1) == 0; break;
    case WRITE: done = read(full[0], page, sizeof page) > 0; break;
    }
    check(done == 1);
}

/* The signal may come before the call, where it ends nothing. */
static void is_interrupted(int kind) {
    struct call call = {kind, 0, 0, 0};
    pthread_t thread;
    pthread_create(&thread, NULL, make, &call);
    while (!call.done) {
        pthread_kill(thread, SIGUSR1);
        usleep(2000);
    }
    pthread_join(thread, NULL);
    check(call.result == -1 && call.error == EINTR);
}

static void goes_on(int kind) {
    struct call call = {kind, 0, 0, 0};
    pthread_t thread;
    pthread_create(&thread, NULL, make, &call);
    for (int times = 0; times < 3; times++) {
        usleep(2000);
        pthread_kill(thread, SIGUSR1);
    }
    usleep(2000);
    lets_go_on(kind);
    pthread_join(thread, NULL);
    check(call.result == 1);
}

static void *for_ever(void *unused) {
    char byte;
    for (;;)
        read(ends[0], &byte, 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    void *result;
    char byte;
    check(pipe(ends) == 0 && pipe(full) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    check((counter = eventfd(0, 0)) >= 0);
    for (int pages = 0; pages < 16; pages++)
        check(write(full[1], page, sizeof page) == sizeof page);
    for (int kind = 0; kind < KINDS; kind++) {
        let_go_on(0);
        is_interrupted(kind);
        let_go_on(SA_RESTART);
        goes_on(kind);
    }
    check(handled >= KINDS);

    struct timeval limit = {0, 20000};
    check(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    struct call limited = {RECEIVE, 0, 0, 0};
    make(&limited);
    check(limited.result == -1 && limited.error == EAGAIN);

    check(read(ends[0], &byte, 0) == 0);

    pthread_create(&thread, NULL, for_ever, NULL);
    usleep(2000);
    pthread_cancel(thread);
    check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);

    /* A handler is perhaps on top of the call when the thread is cancelled there. */
    for (int times = 0; times < 20; times++) {
        pthread_create(&thread, NULL, for_ever, NULL);
        if (times % 2)
            usleep(1000);
        pthread_kill(thread, SIGUSR1);
        pthread_cancel(thread);
        check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }

    struct call last = {READ, 0, 0, 0};
    pthread_create(&thread, NULL, make, &last);
    usleep(2000);
    close(ends[1]);
    pthread_join(thread, NULL);
    check(last.result == 0);
    return 0;
}
