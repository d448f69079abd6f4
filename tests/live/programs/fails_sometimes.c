/* Fails only in some orders of its threads, in the way that its argument names. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static const char *how;
static int hits;
static int *shared;

static void *count(void *u) {
    for (int i = 0; i < 3; i++)
        hits++;
    return u;
}

static void *forwards(void *u) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    hits++;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return u;
}

static void *backwards(void *u) {
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    hits++;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return u;
}

static void *replace(void *u) {
    int *old = shared;
    shared = 0;
    free(old);
    shared = malloc(sizeof *shared);
    *shared = 2;
    return u;
}

static void *use(void *u) {
    hits += *shared;
    return u;
}

int main(int count_of_arguments, char **arguments) {
    pthread_t t[2];
    how = count_of_arguments > 1 ? arguments[1] : "";
    int locks = !strcmp(how, "deadlock"), crash = !strcmp(how, "crash");
    shared = malloc(sizeof *shared);
    *shared = 1;
    pthread_create(&t[0], 0, locks ? forwards : crash ? replace : count, 0);
    pthread_create(&t[1], 0, locks ? backwards : crash ? use : count, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    if (!strcmp(how, "assertion"))
        assert(hits == 6);
    free(shared);
    return !locks && !crash && hits != 6 ? 7 : 0;
}
