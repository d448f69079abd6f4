/* Signals for the process that come while one of its threads ends: sent where the thread still runs a destructor, and
   its trace is over already. No other thread lets them in then. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 20 };

static volatile sig_atomic_t handled;
static pthread_key_t key;
static int rounds[ROUNDS];

static void check(int ok) {
    if (!ok)
        abort();
}

static void on_usr1(int number) {
    handled++;
}

/* In the last of the four rounds that there are, the thread has ended as far as the trace says: what it does there is
   not recorded. */
static void destroy(void *round) {
    if (++*(int *)round < 4)
        pthread_setspecific(key, round);
    else
        kill(getpid(), SIGUSR1);
}

static void *ends(void *round) {
    pthread_setspecific(key, round);
    return NULL;
}

int main(void) {
    pthread_key_create(&key, destroy);
    signal(SIGUSR1, on_usr1);
    sigset_t set, none;
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        pthread_create(&thread, NULL, ends, &rounds[round]);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        pthread_join(thread, NULL);
        /* By now, or as soon as the signal is let in. */
        check(handled <= round + 1);
        pthread_sigmask(SIG_SETMASK, &none, NULL);
        check(handled == round + 1);
    }
    return 0;
}
