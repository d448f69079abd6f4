// Two threads add to one variable; the exit status is its value. A store of each comes directly before a store, an atomic
// operation or a call as well, in its turn.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile long sum, other;
static volatile char flag;
static atomic_int published;
static char copy[32], source[32];
static volatile int store_seen, atomic_seen, copy_seen;

static void *adds(void *unused) { sum++; return unused; }
static void *stores(void *unused) {
    other = 1;
    flag = 1;
    return unused;
}
static void *publishes(void *unused) {
    other = 1;
    atomic_store(&published, 1);
    return unused;
}
// It sleeps longer than the other one takes, and sees by its clock that it did.
static void *oversleeps(void *unused) {
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    long before = sum;
    usleep(300000);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < 300000000) _exit(9);
    sum = before + 1;
    return unused;
}
static void *copies(void *unused) {
    other = 1;
    memcpy(copy, source, sizeof source);
    return unused;
}
static void *looks(void *what) {
    long before = other;
    if (what == stores) sum = before == 1 && !flag;
    if (what == publishes) sum = before == 1 && !atomic_load(&published);
    if (what == copies) sum = before == 1 && copy[31] == 0;
    return 0;
}

int main(int count, char **arguments) {
    pthread_t threads[2];
    void *(*one)(void *) = adds, *(*two)(void *) = looks;
    memset(source, 1, sizeof source);
    switch (arguments[1][0]) {
    case 'a': two = adds; break;
    case 's': one = stores; break;
    case 'p': one = publishes; break;
    case 'o': one = oversleeps; two = adds; break;
    case 'c': one = copies; break;
    }
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, one);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return (int)sum;
}
