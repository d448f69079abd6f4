// The ways in which a program can end; which one is its argument.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile long cell;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile sig_atomic_t stop;

static void on_signal(int number) { stop = number; }
static void *nothing(void *unused) { return unused; }
static void *forever(void *unused) { for (;;) cell++; return unused; }
// Values that no compressor foresees.
static void *noise(void *unused) {
    static volatile unsigned long places[64];
    unsigned long state = 1;
    for (;;) {
        state ^= state << 13; state ^= state >> 7; state ^= state << 17;
        places[state % 64] = state;
    }
    return unused;
}
static void *exits(void *unused) { exit(3); return unused; }
static void *crosses(void *unused) {
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return unused;
}

static void *crosses_back(void *unused) {
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&second);
    return unused;
}
static sem_t work;
static void *idles(void *unused) { sem_wait(&work); return unused; }
static void *begins_forever(void *unused) { sem_post(&work); return forever(unused); }
static void *faults(void *unused) {
    return (void *)*(volatile long *)0x40; // the fault
}
static long deeper(long depth) {
    volatile char frame[4096];
    frame[0] = depth;
    return deeper(depth + 1) + frame[0];
}
static void *overflows(void *unused) {
    stack_t alternate = {0};
    // The runtime's own alternate stack is none to the program.
    if (sigaltstack(0, &alternate) || alternate.ss_flags != SS_DISABLE) return unused;
    return (void *)deeper(0);
}

static void *adds(void *unused) { cell++; return unused; }

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "return";
    pthread_t t;
    cell = 7;
    if (!strcmp(how, "return")) return 0;
    if (!strcmp(how, "status")) return 3;
    if (!strcmp(how, "thread")) { pthread_create(&t, 0, exits, 0); pthread_join(t, 0); }
    if (!strcmp(how, "running")) { pthread_create(&t, 0, forever, 0); cell++; return 4; }
    if (!strcmp(how, "at-once")) { cell = 8; _exit(5); }
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(how, "races")) { pthread_create(&t, 0, adds, 0); cell++; pthread_join(t, 0); return 0; }
    if (!strcmp(how, "main-first")) { pthread_create(&t, 0, exits, 0); pthread_exit(0); }
    if (!strcmp(how, "forever")) {
        // Ready is who has a thread that runs, and has raced with it: a signal may come at once.
        pthread_create(&t, 0, begins_forever, 0); sem_wait(&work); cell++;
        puts("ready"); fflush(stdout); forever(0);
    }
    if (!strcmp(how, "slowly")) { puts("ready"); fflush(stdout); for (;;) { cell++; usleep(1000); } }
    if (!strcmp(how, "noise")) { pthread_create(&t, 0, noise, 0); puts("ready"); fflush(stdout); usleep(700000); return 0; }
    if (!strcmp(how, "count")) {
        // Each increment sees the one before: none can be missing in the middle of a trace.
        struct timespec begun, now;
        pthread_create(&t, 0, nothing, 0); pthread_join(t, 0);
        puts("ready"); fflush(stdout);
        clock_gettime(CLOCK_MONOTONIC, &begun);
        do {
            for (int i = 0; i < 100; i++) cell++;
            usleep(1000);
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < 600);
        printf("%ld\n", cell);
        return 0;
    }
    if (!strcmp(how, "handler")) {
        signal(SIGTERM, on_signal);
        puts("ready"); fflush(stdout);
        while (!stop) usleep(1000);
        return stop == SIGTERM ? 6 : 1;
    }
    if (!strcmp(how, "robust-deadlock")) {
        pthread_mutexattr_t robust;
        pthread_mutexattr_init(&robust);
        pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&first, &robust);
        pthread_mutex_init(&second, &robust);
    }
    if (strstr(how, "deadlock")) {
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&t, 0, crosses, 0);
        pthread_mutex_lock(&first);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&second);
    }
    // Two threads wait for each other while main finishes.
    if (!strcmp(how, "partly")) {
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&t, 0, crosses, 0);
        pthread_create(&t, 0, crosses_back, 0);
        usleep(100000);
        return 0;
    }
    // All wait, with a handler installed: it cannot give back a lock that a waiting thread holds.
    if (!strcmp(how, "with-handler")) {
        signal(SIGUSR1, on_signal);
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&t, 0, crosses, 0);
        crosses_back(0);
    }
    // Somebody waits for work that main could still give it.
    if (!strcmp(how, "idle")) { sem_init(&work, 0, 0); pthread_create(&t, 0, idles, 0); usleep(100000); return 0; }
    if (!strcmp(how, "fault")) { pthread_create(&t, 0, faults, 0); pthread_join(t, 0); }
    if (!strcmp(how, "overflow")) { pthread_create(&t, 0, overflows, 0); pthread_join(t, 0); }
    if (!strcmp(how, "assertion")) { assert(count == 1); }
    if (!strcmp(how, "exec")) { char *list[] = {"true", 0}; execvp("true", list); }
    if (!strcmp(how, "environment")) {
        const char *path = getenv("LD_LIBRARY_PATH"), *own = getenv("OWN_LIBRARY_PATH");
        return getenv("WITNESS_RING") || !path || !own || strcmp(path, own) ? 1 : system("true");
    }
    return 1;
}
