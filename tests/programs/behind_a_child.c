/* A child hands over what one thread writes and another one reads, through pipes, a pair of sockets, a signal and its
   end. What a thread does before it reads is not behind that. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int to_child[2], from_child[2], pair[2], of_own[2];
static pid_t echoes, waits;
static int by_pipes, by_sockets, by_own, by_signal, by_end, beside;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void child(void)
{
    char byte;
    close(to_child[1]);
    close(pair[0]);
    if (read(to_child[0], &byte, 1) != 1 || write(from_child[1], &byte, 1) != 1)
        _exit(1);
    if (read(pair[1], &byte, 1) != 1 || write(pair[1], &byte, 1) != 1)
        _exit(1);
    /* Until nobody writes any more. */
    while (read(to_child[0], &byte, 1) > 0)
        ;
    _exit(0);
}

static void *tells(void *unused)
{
    by_own = 1; /* @writes_own */
    must(write(of_own[1], "o", 1) == 1);
    by_pipes = 1; /* @writes_pipe */
    must(write(to_child[1], "p", 1) == 1);
    by_sockets = 1; /* @writes_socket */
    beside = 1; /* @beside_writing */
    must(write(pair[0], "s", 1) == 1);
    by_signal = 1; /* @kills */
    must(kill(waits, SIGTERM) == 0);
    by_end = 1; /* @closes */
    must(close(to_child[1]) == 0);
    return unused;
}

static void *hears(void *unused)
{
    char byte;
    int status;
    must(read(of_own[0], &byte, 1) == 1 && byte == 'o');
    must(by_own == 1); /* @reads_own */
    beside = 2; /* @beside_reading */
    must(read(from_child[0], &byte, 1) == 1 && byte == 'p');
    must(by_pipes == 1); /* @reads_pipe */
    must(read(pair[0], &byte, 1) == 1 && byte == 's');
    must(by_sockets == 1); /* @reads_socket */
    must(waitpid(waits, &status, 0) == waits && WIFSIGNALED(status));
    must(by_signal == 1); /* @sees_killed */
    must(waitpid(echoes, &status, 0) == echoes && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    must(by_end == 1); /* @sees_end */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    must(pipe(to_child) == 0 && pipe(from_child) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    echoes = fork();
    must(echoes >= 0);
    if (echoes == 0)
        child();
    must(close(to_child[0]) == 0);
    waits = fork();
    must(waits >= 0);
    if (waits == 0) {
        close(to_child[1]);
        for (;;)
            pause();
    }
    must(pipe(of_own) == 0);
    pthread_create(&threads[0], NULL, tells, NULL);
    pthread_create(&threads[1], NULL, hears, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
