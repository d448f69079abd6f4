// A test of a suite: what it does is its argument, and its status.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int shared, other;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *races(void *unused) { shared++; return unused; }
static void *races_too(void *unused) { other++; return unused; }
static void *locks(void *unused) {
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *takes(void *unused) {
    pthread_mutex_lock(&lock);
    int seen = shared;
    pthread_mutex_unlock(&lock);
    if (seen == 1) other = 1;
    return unused;
}
static void *leaves(void *unused) {
    pthread_mutex_lock(&lock);
    shared = 1;
    pthread_mutex_unlock(&lock);
    other = 2;
    return unused;
}
static void twice(void *(*what)(void *)) {
    pthread_t t, u;
    pthread_create(&t, 0, what, 0);
    pthread_create(&u, 0, what, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
}

int main(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    if (!strcmp(how, "alone")) return shared;
    if (!strcmp(how, "races")) twice(races);
    if (!strcmp(how, "races_too")) twice(races_too);
    if (!strcmp(how, "locks")) twice(locks);
    // Only who comes second sees that the other was there.
    if (!strcmp(how, "hidden")) {
        pthread_t t, u;
        pthread_create(&t, 0, takes, 0);
        pthread_create(&u, 0, leaves, 0);
        pthread_join(t, 0);
        pthread_join(u, 0);
    }
    if (!strcmp(how, "fails")) { twice(locks); return 7; }
    if (!strcmp(how, "name")) { puts(arguments[0]); return 0; }
    if (!strcmp(how, "input")) { int byte = getchar(); printf("%c\n", byte); return 0; }
    if (!strcmp(how, "killed")) raise(SIGKILL);
    if (!strcmp(how, "aborts")) abort();
    if (!strcmp(how, "sleeps")) { puts("ready"); fflush(stdout); sleep(1000); }
    // A program of its own, through a shell.
    if (!strcmp(how, "starts")) { char text[4096]; snprintf(text, sizeof text, "'%s' races_too", arguments[0]); return system(text); }
    return 0;
}
