/* Ends when another process sends a signal; the race is behind that.
 *
 * The argument says what the main thread does until then: it waits in a call of the system (`call`), runs (`run`), waits for another thread
 * (`wait`), or waits for the signal itself (`sigwait`). */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static sem_t asked;
static int data, seen;
static volatile sig_atomic_t stop;

static void handle(int signal) {
    stop = signal;
    sem_post(&asked);
}

/* The recorder does not see this. */
__attribute__((no_sanitize("thread"), noinline)) static void compute(void) {
    for (volatile int times = 0; times < 100000; times++)
        ;
}

static void *worker(void *arg) {
    sem_wait((sem_t *)arg);
    seen = data; /* @read */
    return NULL;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "call";
    pthread_t thread;
    sem_t go;
    sem_init(&go, 0, 0);
    sem_init(&asked, 0, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    if (!strcmp(how, "sigwait"))
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    else
        signal(SIGTERM, handle);
    pthread_create(&thread, NULL, worker, &go);
    int signal = 0;
    if (!strcmp(how, "sigwait"))
        sigwait(&set, &signal);
    else if (!strcmp(how, "wait"))
        sem_wait(&asked);
    else
        while (!stop)
            if (!strcmp(how, "call"))
                pause();
            else
                compute();
    sem_post(&go);
    data = 1; /* @write */
    pthread_join(thread, NULL);
    return 0;
}
