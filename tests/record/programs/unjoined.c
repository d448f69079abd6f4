// Main ends the process in the way that its argument says, and waits for nobody.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile long counted, slept, looped, seen;
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;

static void *counts(void *unused) {
    for (int i = 0; i < 50; i++) counted++;
    return unused;
}
static void *sleeps(void *unused) {
    usleep(20000);
    slept = 1;
    return unused;
}
static void *loops(void *unused) { for (;;) looped++; return unused; }
static void *waits(void *unused) {
    pthread_mutex_lock(&taken);
    abort();
    return unused;
}
// What exit runs comes after what the others do.
__attribute__((destructor)) static void at_exit(void) {
    seen = counted;
    if (counted != 50 || slept != 1) _exit(9);
}

int main(int count, char **arguments) {
    const char *how = arguments[1];
    pthread_t t;
    pthread_mutex_lock(&taken);
    pthread_create(&t, 0, counts, 0);
    pthread_create(&t, 0, sleeps, 0);
    pthread_create(&t, 0, waits, 0);
    if (count > 2) pthread_create(&t, 0, loops, 0);
    if (!strcmp(how, "return")) return 3;
    if (!strcmp(how, "exit")) exit(3);
    if (!strcmp(how, "quick_exit")) quick_exit(3);
    if (!strcmp(how, "_exit")) _exit(3);
    return 8;
}
