/* Stands in front of the C library's functions that change names, and kills the process before the N-th call of one,
 * where KILL_AT_NAME says N. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int calls;

static void count(void) {
    const char *at = getenv("KILL_AT_NAME");
    if (at && __sync_add_and_fetch(&calls, 1) == atoi(at))
        kill(getpid(), SIGKILL);
}

int rename(const char *from, const char *to) {
    count();
    return (int)syscall(SYS_rename, from, to);
}

int unlink(const char *path) {
    count();
    return (int)syscall(SYS_unlink, path);
}
