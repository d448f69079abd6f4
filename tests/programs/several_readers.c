/* Several threads read from one pipe, and from one socket of a pair: each works on what the message that it got names.
 *
 * The first reader waits in the kernel when two messages are written; the second one comes when both are there, and may
 * have its message before the first one goes on. Whoever got which message, each works on a cell of its own, filled
 * before its message was written.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

struct channel {
    int to, from;
    sem_t open;
    int cells[2];
};

static struct channel by_pipe, by_socket;
static int late;

static void *early_reader(void *argument)
{
    struct channel *channel = argument;
    char index;
    if (read(channel->from, &index, 1) == 1)
        channel->cells[(int)index] += 1; /* @early */
    return NULL;
}

static void *late_reader(void *argument)
{
    struct channel *channel = argument;
    sem_wait(&channel->open);
    char index;
    if (read(channel->from, &index, 1) == 1)
        channel->cells[(int)index] += 1; /* @late */
    return NULL;
}

static void write_both(struct channel *channel)
{
    /* The first reader waits by now. */
    usleep(20000);
    sem_post(&channel->open);
    for (char index = 0; index < 2; index++) {
        channel->cells[(int)index] = 10; /* @fill */
        if (write(channel->to, &index, 1) != 1)
            perror("write");
    }
    late = 1; /* @behind */
}

static void *looks(void *unused)
{
    (void)unused;
    return late ? &late : NULL; /* @looks */
}

static void run(struct channel *channel)
{
    pthread_t readers[2];
    sem_init(&channel->open, 0, 0);
    pthread_create(&readers[0], NULL, early_reader, channel);
    pthread_create(&readers[1], NULL, late_reader, channel);
    write_both(channel);
    pthread_join(readers[0], NULL);
    pthread_join(readers[1], NULL);
}

int main(void)
{
    int pipe_ends[2], socket_ends[2];
    if (pipe(pipe_ends) != 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, socket_ends) != 0)
        return 1;
    by_pipe.from = pipe_ends[0];
    by_pipe.to = pipe_ends[1];
    by_socket.from = socket_ends[0];
    by_socket.to = socket_ends[1];
    pthread_t looking;
    pthread_create(&looking, NULL, looks, NULL);
    run(&by_pipe);
    run(&by_socket);
    pthread_join(looking, NULL);
    printf("%d %d\n", by_pipe.cells[0] + by_pipe.cells[1], by_socket.cells[0] + by_socket.cells[1]);
    return 0;
}
