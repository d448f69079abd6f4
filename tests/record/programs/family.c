// Programs that fork, execute and start others; which one is the first argument.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static long shared, guarded, before = 5;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, recursive, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static char *heap;

__attribute__((noinline)) static void race(void) { shared = shared + 1; }

static void *worker(void *unused) {
    race();
    pthread_mutex_lock(&lock);
    guarded += before;
    pthread_mutex_unlock(&lock);
    return unused;
}

static long *counted;
// As recorded, the lock orders the two; in another order it does not.
static void *race_before(void *unused) {
    if (*counted == 41) *counted = 1;
    pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock);
    return unused;
}
static void *race_behind(void *unused) {
    pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock);
    *counted = 2;
    return unused;
}

// Two threads that race on `shared`.
static void workers(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
}

static int wait_for(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) exit(90);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static volatile int stop;
static void *holds(void *barrier) {
    pthread_mutex_lock(&other);
    pthread_barrier_wait(barrier);
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) usleep(100);
    pthread_mutex_unlock(&other);
    return 0;
}
static void *forks(void *result) {
    pid_t child = fork();
    if (!child) { workers(); pthread_exit(0); }
    *(int *)result = wait_for(child);
    return 0;
}
static volatile int made;
static void *forever(void *unused) { for (;;) race(); return unused; }

// What copies and sharers of the memory do.
static char stack[1 << 16];
static int copied(void *value) {
    workers();
    return *(int *)value == 3 && guarded == 10 ? 3 : 1;
}
static void *late(void *unused) { usleep(50000); workers(); return unused; }
static int leaves(void *unused) {
    pthread_t t;
    pthread_create(&t, 0, late, 0);
    return 4;
}
static int shares(void *value) {
    usleep(20000);
    race(); race();
    *(int *)value = 8;
    return 5;
}
static int executes(void *given) {
    execv(*(char **)given, given);
    return 1;
}

static char *list(const char *how, char **self, char **given) {
    given[0] = self[0]; given[1] = (char *)how; given[2] = 0;
    return self[0];
}

int main(int count, char **arguments) {
    const char *how = arguments[1];
    char *given[3];
    pid_t child;
    if (!strcmp(how, "workers")) { workers(); return guarded == 10 ? 7 : 1; }
    if (!strcmp(how, "fork")) {
        // The child races, and sees what was there.
        heap = malloc(100); strcpy(heap, "before"); before = 6;
        child = fork();
        if (!child) { workers(); exit(guarded == 12 && !strcmp(heap, "before") ? 3 : 1); }
        int status = wait_for(child);
        free(heap);
        return status == 3 && shared == 0 ? 0 : 1;
    }
    if (!strcmp(how, "held")) {
        // By the thread that forks (twice, and shared), by another one, and taken again in the child.
        pthread_t t;
        pthread_barrier_t both;
        pthread_mutexattr_t attr;
        pthread_mutexattr_init(&attr);
        pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
        pthread_mutex_init(&recursive, &attr);
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&t, 0, holds, &both);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&recursive); pthread_mutex_lock(&recursive);
        pthread_rwlock_rdlock(&rwlock);
        child = fork();
        if (!child) {
            int busy = pthread_mutex_trylock(&other);
            guarded = 1;
            pthread_rwlock_unlock(&rwlock);
            // glibc takes the child for another thread than the owner.
            int denied = pthread_mutex_unlock(&recursive);
            pthread_mutex_unlock(&lock);
            workers();
            _exit(busy == EBUSY && denied == EPERM && guarded == 11 ? 4 : 1);
        }
        int status = wait_for(child);
        pthread_mutex_unlock(&lock);
        __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
        pthread_join(t, 0);
        return status == 4 ? 0 : 1;
    }
    if (!strcmp(how, "thread")) {
        // Not the first thread forks, and the child's only thread ends as a thread does.
        pthread_t t;
        int status = 1;
        pthread_create(&t, 0, forks, &status);
        pthread_join(t, 0);
        return status;
    }
    if (!strcmp(how, "loop")) {
        int rounds = atoi(arguments[2]), wrong = 0;
        for (int i = 0; i < rounds; i++) {
            child = fork();
            if (!child) { workers(); _exit(i % 100); }
            wrong += wait_for(child) != i % 100;
        }
        return wrong;
    }
    if (!strcmp(how, "tree")) {
        // All at once, and children of children.
        pid_t children[4];
        for (int i = 0; i < 4; i++) {
            children[i] = fork();
            if (!children[i]) {
                workers();
                pid_t grandchild = fork();
                if (!grandchild) { workers(); _exit(2); }
                _exit(wait_for(grandchild) + i);
            }
        }
        int wrong = 0;
        for (int i = 0; i < 4; i++) wrong += wait_for(children[i]) != 2 + i;
        return wrong;
    }
    if (!strcmp(how, "killed")) {
        int ready[2];
        char byte;
        pipe(ready);
        child = fork();
        if (!child) {
            pthread_t t;
            pthread_create(&t, 0, forever, 0);
            /* Much, however slow the machine is. */
            for (int i = 0; i < 1000; i++)
                made = i;
            write(ready[1], "x", 1);
            forever(0);
        }
        read(ready[0], &byte, 1);
        usleep(200000);
        kill(child, SIGKILL);
        return wait_for(child) == 128 + SIGKILL ? 0 : 1;
    }
    if (!strcmp(how, "beyond")) {
        // Past the handlers of the C library, and past the library.
        child = _Fork();
        if (!child) { workers(); _exit(5); }
        if (wait_for(child) != 5) return 1;
        child = syscall(SYS_fork);
        if (!child) { shared = 3; _exit(shared); }
        if (wait_for(child) != 3) return 1;
        child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (!child) { shared = 4; _exit(shared); }
        return wait_for(child) == 4 && shared == 0 ? 0 : 1;
    }
    if (!strcmp(how, "inherited")) {
        // The workers race on what the parent has allocated and written, beside memory that is gone or cannot be read.
        long *big = calloc(1 << 20, 1);
        counted = malloc(sizeof *counted); *counted = 41; big[9999] = 5;
        char *mapped = mmap(0, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *part = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(part + 4096, 4096);
        child = fork();
        if (!child) {
            pthread_t threads[2];
            pthread_create(&threads[0], 0, race_before, 0);
            pthread_create(&threads[1], 0, race_behind, 0);
            for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
            _exit(*counted < 3 && big[9999] == 5 ? 6 : 1);
        }
        return wait_for(child) == 6 ? 0 : 1;
    }
    if (!strcmp(how, "pair")) {
        // Both count for a while; the child says first how far it came.
        puts("ready"); fflush(stdout);
        child = fork();
        for (int i = 0; i < (child ? 300 : 200); i++) {
            for (int k = 0; k < 100; k++) race();
            usleep(1000);
        }
        if (child) wait_for(child);
        printf("%ld\n", shared); fflush(stdout);
        _exit(0);
    }
    if (!strcmp(how, "left")) {
        // The parent does not wait.
        child = fork();
        if (!child) { usleep(200000); workers(); _exit(guarded == 10 ? 5 : 1); }
        return 0;
    }
    if (!strcmp(how, "daemon")) {
        child = fork();
        if (!child) { workers(); puts("ready"); fflush(stdout); for (;;) pause(); }
        return 0;
    }
    if (!strcmp(how, "exec")) { execv(list("workers", arguments, given), given); return 1; }
    if (!strcmp(how, "fexecve") || !strcmp(how, "fexecve-path")) {
        fexecve(open(list("workers", arguments, given), how[7] ? O_PATH : O_RDONLY | O_CLOEXEC), given, environ);
        return 1;
    }
    if (!strcmp(how, "execveat")) {
        char *path = strdup(list("workers", arguments, given)), *last = strrchr(path, '/');
        *last = 0;
        execveat(open(path, O_PATH | O_DIRECTORY), last + 1, given, environ, AT_SYMLINK_NOFOLLOW);
        return 1;
    }
    if (!strcmp(how, "call-execve")) { syscall(SYS_execve, list("workers", arguments, given), given, environ); return 1; }
    if (!strcmp(how, "call-execveat")) {
        int file = open(list("workers", arguments, given), O_RDONLY | O_CLOEXEC);
        if (syscall(SYS_execveat, file, "", given, environ, 0) != -1 || errno != ENOENT) return 2;
        syscall(SYS_execveat, file, "", given, environ, AT_EMPTY_PATH);
        return 1;
    }
    if (!strcmp(how, "no-environment")) { execve(list("workers", arguments, given), given, 0); return 1; }
    if (!strcmp(how, "clone")) {
        // In a function of its own: once it ends there, once another thread goes on.
        int value = 3;
        child = clone(copied, stack + sizeof stack, SIGCHLD, &value);
        if (wait_for(child) != 3) return 1;
        child = clone(leaves, stack + sizeof stack, SIGCHLD, 0);
        // Whose status counts, that of the first thread or of the last, depends on the kernel.
        if (wait_for(child) % 4) return 2;
        struct clone_args how = {.exit_signal = SIGCHLD};
        child = syscall(SYS_clone3, &how, sizeof how);
        if (!child) { workers(); _exit(5); }
        return wait_for(child) == 5 && shared == 0 ? 0 : 3;
    }
    if (!strcmp(how, "clone-shares")) {
        // The same memory, while another thread runs, so increments may be lost; then a program of its own.
        pthread_t t;
        int value = 0;
        pthread_create(&t, 0, worker, 0);
        child = clone(shares, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, &value);
        if (wait_for(child) != 5 || value != 8) return 1;
        pthread_join(t, 0);
        child = vfork();
        if (!child) { race(); _exit(6); }
        if (wait_for(child) != 6 || shared < 2 || shared > 4) return 2;
        list("workers", arguments, given);
        child = clone(executes, stack + sizeof stack, CLONE_VM | SIGCHLD, given);
        race();
        return wait_for(child) == 7 && shared >= 3 && shared <= 5 ? 0 : 3;
    }
    if (!strcmp(how, "namespace")) {
        // Who is number 1 there is not found by its number.
        child = syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER | CLONE_NEWPID, 0, 0, 0, 0);
        if (child < 0) return 77;
        if (!child) { workers(); _exit(getpid() == 1 ? 6 : 1); }
        return wait_for(child) == 6 && shared == 0 ? 0 : 1;
    }
    if (!strcmp(how, "execl")) { execl(arguments[0], arguments[0], "workers", (char *)0); return 1; }
    if (!strcmp(how, "execle")) {
        char *none[] = {"A=b", 0};
        execle(arguments[0], "other", "environment", "x", "y", "z", "6", "7", "8", (char *)0, none);
        return 1;
    }
    if (!strcmp(how, "environment"))
        return count == 8 && !strcmp(arguments[7], "8") && !strcmp(arguments[6], "7") && getenv("A") && environ[1] == 0 ? 8 : 1;
    if (!strcmp(how, "execlp")) { execlp("sh", "sh", "-c", "[ -z \"$WITNESS_RING\" ] && [ \"$LD_LIBRARY_PATH\" = \"$OWN_LIBRARY_PATH\" ] || exit 1; exit $1", "sh", "9", "", (char *)0); return 1; }
    if (!strcmp(how, "exec-fails")) {
        execv("/no/such/program", arguments);
        execvp("no-such-program-anywhere", arguments);
        char *script[] = {"/etc/passwd", 0};
        execv(script[0], script);
        child = fork();
        if (!child) { workers(); _exit(3); }
        return wait_for(child) == 3 ? 0 : 1;
    }
    if (!strcmp(how, "fork-exec")) {
        child = fork();
        if (!child) { execv(list("workers", arguments, given), given); _exit(1); }
        return wait_for(child) == 7 ? 0 : 1;
    }
    if (!strcmp(how, "vfork-exec")) {
        list("workers", arguments, given);
        child = vfork();
        if (!child) { execv(given[0], given); _exit(1); }
        return wait_for(child) == 7 ? 0 : 1;
    }
    if (!strcmp(how, "spawn")) {
        list("workers", arguments, given);
        if (posix_spawn(&child, given[0], 0, 0, given, environ)) return 1;
        int first = wait_for(child);
        if (posix_spawn(&child, "/no/such/program", 0, 0, given, environ) == 0) return 1;
        if (posix_spawnp(&child, "true", 0, 0, given, environ)) return 1;
        int second = wait_for(child);
        if (posix_spawn(&child, given[0], 0, 0, given, environ)) return 1;
        return first == 7 && second == 0 && wait_for(child) == 7 ? 0 : 1;
    }
    if (!strcmp(how, "others")) {
        FILE *file = popen("echo $((6 * 7))", "r");
        int answer = 0;
        fscanf(file, "%d", &answer);
        pclose(file);
        return answer == 42 && system("exit 3") == 3 << 8 ? 0 : 1;
    }
    return 1;
}
