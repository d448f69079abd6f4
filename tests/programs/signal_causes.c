/* A handler runs after it was installed, and after the signal was sent that it runs for: to a thread, to the process, with
 * a value, or to one that waits for it.
 *
 * `installed`, `killed`, `queued`, `asked` and `awaited` are written before.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static int installed, killed, queued, asked, awaited;
static int sum;
static sem_t done;

static void counts(int seen)
{
    __atomic_fetch_add(&sum, seen, __ATOMIC_RELAXED);
}

static void on_kill(int signal)
{
    counts(installed); /* @sees_installed */
    counts(killed);    /* @sees_killed */
    sem_post(&done);
}

static void on_thread(int signal)
{
    counts(asked); /* @sees_asked */
    sem_post(&done);
}

static void on_value(int signal, siginfo_t *info, void *context)
{
    counts(queued); /* @sees_queued */
    sem_post(&done);
}

static void *handles(void *unused)
{
    while (__atomic_load_n(&sum, __ATOMIC_RELAXED) < 4)
        usleep(100);
    return unused;
}

static void *waits(void *set)
{
    int signal;
    if (sigwait(set, &signal) == 0)
        counts(awaited); /* @sees_awaited */
    sem_post(&done);
    return 0;
}

int main(void)
{
    sigset_t all, own;
    sigemptyset(&all);
    sigaddset(&all, SIGUSR1);
    sigaddset(&all, SIGRTMIN);
    sigemptyset(&own);
    sigaddset(&own, SIGHUP);
    sem_init(&done, 0, 0);

    pthread_sigmask(SIG_BLOCK, &own, 0);
    pthread_t handler, waiter;
    pthread_create(&handler, 0, handles, 0);
    pthread_create(&waiter, 0, waits, &own);
    pthread_sigmask(SIG_BLOCK, &all, 0);

    installed = 1; /* @installed */
    signal(SIGUSR1, on_kill);
    signal(SIGUSR2, on_thread);
    struct sigaction action = {0};
    action.sa_sigaction = on_value;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGRTMIN, &action, 0);

    asked = 1; /* @asked */
    pthread_kill(handler, SIGUSR2);
    sem_wait(&done);
    queued = 1; /* @queued */
    sigqueue(getpid(), SIGRTMIN, (union sigval){0});
    sem_wait(&done);
    killed = 1; /* @killed */
    kill(getpid(), SIGUSR1);
    sem_wait(&done);
    awaited = 1; /* @awaited */
    pthread_kill(waiter, SIGHUP);
    sem_wait(&done);
    pthread_join(handler, 0);
    pthread_join(waiter, 0);
    return sum != 5;
}
