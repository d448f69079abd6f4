/* What was written before a timer is set is there when it has run down: in the thread that glibc makes for that, in a
   handler that another thread runs, and for who waits for the signal. The same of a message, whose coming is told. */
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int for_thread, for_handler, for_alarm, for_waiter, for_message;
static int beside_thread, beside_handler;
static sem_t by_thread, by_handler, by_alarm, by_message, ready;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void told(union sigval value)
{
    must(for_thread == value.sival_int); /* @read_by_thread */
    beside_thread = 1; /* @beside_in_thread */
    sem_post(&by_thread);
}

static void came(union sigval value)
{
    must(for_message == value.sival_int); /* @read_by_message */
    sem_post(&by_message);
}

static void handle(int signal)
{
    if (signal == SIGALRM) {
        must(for_alarm == 1); /* @read_by_alarm */
        sem_post(&by_alarm);
    } else {
        must(for_handler == 1); /* @read_by_handler */
        beside_handler = 1; /* @beside_in_handler */
        sem_post(&by_handler);
    }
}

/* The only thread that does not block the signals. */
static void *handles(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    sem_post(&ready);
    while (sem_wait(&by_handler) != 0)
        ;
    while (sem_wait(&by_alarm) != 0)
        ;
    return unused;
}

static void *waits(void *unused)
{
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    must(sigwait(&set, &signal) == 0 && signal == SIGUSR2);
    must(for_waiter == 1); /* @read_by_waiter */
    return unused;
}

static timer_t timer_for(struct sigevent event)
{
    timer_t timer;
    must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    return timer;
}

static void set(timer_t timer)
{
    const struct itimerspec soon = {.it_value = {.tv_nsec = 2000000}};
    must(timer_settime(timer, 0, &soon, NULL) == 0);
}

int main(void)
{
    pthread_t threads[2];
    struct sigaction action = {.sa_handler = handle};
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sem_t *const semaphores[] = {&by_thread, &by_handler, &by_alarm, &by_message, &ready};
    for (int i = 0; i < 5; i++)
        sem_init(semaphores[i], 0, 0);
    timer_t of_thread = timer_for((struct sigevent){
        .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 7, .sigev_notify_function = told});
    timer_t of_handler = timer_for((struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1});
    timer_t of_waiter = timer_for((struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2});
    pthread_create(&threads[0], NULL, handles, NULL);
    pthread_create(&threads[1], NULL, waits, NULL);
    sem_wait(&ready);

    for_thread = 7; /* @write_for_thread */
    set(of_thread);
    beside_thread = 2; /* @beside_thread */
    sem_wait(&by_thread);

    for_handler = 1; /* @write_for_handler */
    set(of_handler);
    beside_handler = 2; /* @beside_handler */
    for_alarm = 1; /* @write_for_alarm */
    const struct itimerval later = {.it_value = {.tv_usec = 20000}};
    must(setitimer(ITIMER_REAL, &later, NULL) == 0);
    pthread_join(threads[0], NULL);

    for_waiter = 1; /* @write_for_waiter */
    set(of_waiter);
    pthread_join(threads[1], NULL);

    char name[32];
    snprintf(name, sizeof name, "/witness-%d", (int)getpid());
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    must(queue >= 0 && mq_unlink(name) == 0);
    const struct sigevent event = {
        .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 9, .sigev_notify_function = came};
    must(mq_notify(queue, &event) == 0);
    for_message = 9; /* @write_for_message */
    must(mq_send(queue, "m", 1, 0) == 0);
    sem_wait(&by_message);
    return 0;
}
