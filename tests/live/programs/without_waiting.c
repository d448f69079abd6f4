/* One thread writes to a pipe, another one reads from it, and neither waits: how often each comes too early, or finds it
 * full, is decided by the order of their calls. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2], pair[2];
static int failed[4];

static void *give(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        failed[0] += write(ends[1], "x", 1) != 1;
        failed[1] += send(pair[1], "y", 1, MSG_DONTWAIT) != 1;
    }
    return unused;
}

static void *take(void *unused)
{
    char letters[2];
    for (int i = 0; i < 2000; i++) {
        failed[2] += read(ends[0], letters, 2) < 0;
        failed[3] += recv(pair[0], letters, 2, MSG_DONTWAIT) < 0;
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    if (pipe2(ends, O_NONBLOCK) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 3;
    pthread_create(&threads[0], NULL, give, NULL);
    pthread_create(&threads[1], NULL, take, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%d %d %d %d\n", failed[0], failed[1], failed[2], failed[3]);
    return 0;
}
