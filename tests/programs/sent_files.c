/* A file that one thread sends through a pair of sockets hands over what was written before to who reads it. What it sends
   to somebody outside, from a file or a pipe, hands over nothing. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2], outside[2], ends[2], file;
static int handed_over, beside;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *sends(void *unused)
{
    off_t at = 0;
    handed_over = 1; /* @writes */
    must(sendfile(pair[0], file, &at, 4) == 4);
    at = 0;
    must(sendfile(outside[0], file, &at, 4) == 4);
    must(splice(ends[0], NULL, outside[1], NULL, 4, 0) == 4);
    beside = 1; /* @beside_sending */
    return unused;
}

static void *receives(void *unused)
{
    char bytes[4];
    must(read(pair[1], bytes, sizeof bytes) == 4);
    must(handed_over == 1); /* @reads */
    beside = 2; /* @beside_reading */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    char name[] = "/tmp/witness-sent-XXXXXX";
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    file = mkstemp(name);
    must(file >= 0 && write(file, "sent", 4) == 4 && unlink(name) == 0);
    /* Nobody listens there, which a datagram need not know. */
    const struct sockaddr_in discard = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    for (int i = 0; i < 2; i++) {
        outside[i] = socket(AF_INET, SOCK_DGRAM, 0);
        must(outside[i] >= 0 && connect(outside[i], (const struct sockaddr *)&discard, sizeof discard) == 0);
    }
    must(pipe(ends) == 0 && write(ends[1], "sent", 4) == 4);
    pthread_create(&threads[0], NULL, sends, NULL);
    pthread_create(&threads[1], NULL, receives, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
