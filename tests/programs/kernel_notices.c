// What one thread writes before it sets a timer, sends a signal, creates a file or starts a child, that one may read after the kernel
// gave it notice: of the timer or the signal by a descriptor, of the file by inotify, of the child's end by wait.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int timer, sent, watched;
static int by_timer, by_signal, by_file, by_child;

static void *reader(void *unused) {
    unsigned long times;
    struct signalfd_siginfo info;
    char text[4096];
    int sum = 0;
    if (read(timer, &times, sizeof times) == sizeof times) sum += by_timer; /* @read_timer */
    if (read(sent, &info, sizeof info) == sizeof info) sum += by_signal; /* @read_signal */
    if (read(watched, text, sizeof text) > 0) sum += by_file; /* @read_file */
    while (wait(NULL) < 0) usleep(100);
    sum += by_child; /* @read_child */
    return sum == 4 ? unused : &timer;
}

int main(void) {
    pthread_t t;
    void *failed;
    struct itimerspec soon = {.it_value.tv_nsec = 1000};
    char folder[] = "/tmp/witness-watched.XXXXXX", name[64];
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    sent = signalfd(-1, &signals, 0);
    watched = inotify_init();
    if (timer < 0 || sent < 0 || watched < 0 || !mkdtemp(folder)) return 1;
    inotify_add_watch(watched, folder, IN_CREATE);
    snprintf(name, sizeof name, "%s/file", folder);
    pthread_create(&t, NULL, reader, NULL);
    by_timer = 1; /* @write_timer */
    timerfd_settime(timer, 0, &soon, NULL);
    by_signal = 1; /* @write_signal */
    kill(getpid(), SIGUSR1);
    by_file = 1; /* @write_file */
    close(open(name, O_CREAT | O_WRONLY, 0600));
    by_child = 1; /* @write_child */
    if (!fork()) _exit(0);
    pthread_join(t, &failed);
    unlink(name);
    rmdir(folder);
    return failed ? 2 : 0;
}
