/* The handler of a child's end, in the one thread that lets it in, hands over what was written before the child was
   started, and not what was written after. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t ended;
static volatile sig_atomic_t came;
static int by_child, beside;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void handler(int signal)
{
    came = signal;
    sem_post(&ended);
}

static void *handles(void *set)
{
    must(pthread_sigmask(SIG_UNBLOCK, set, NULL) == 0);
    while (!came)
        usleep(1000);
    return set;
}

static void *starts(void *unused)
{
    by_child = 1; /* @writes */
    pid_t child = fork();
    must(child >= 0);
    if (child == 0)
        _exit(0);
    beside = 1; /* @beside_child */
    return unused;
}

static void *is_told(void *unused)
{
    must(sem_wait(&ended) == 0);
    must(by_child == 1); /* @reads */
    beside = 2; /* @beside_end */
    must(wait(NULL) > 0);
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    must(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    must(sigaction(SIGCHLD, &action, NULL) == 0 && sem_init(&ended, 0, 0) == 0);
    pthread_create(&threads[0], NULL, handles, &set);
    pthread_create(&threads[1], NULL, is_told, NULL);
    pthread_create(&threads[2], NULL, starts, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
