/* Objects that are handed over through pipes which are not simply made and used: one with a name, one that is opened once
 * more or comes with a message, packets that are read in part, and what `tee` and `splice` pass on.
 *
 * Each reader comes behind its writer, and has what that has filled for itself.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int to, from, other[2], pair[2];
static int filled, first, second, late;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *writer(void *unused)
{
    filled = 1; /* @fill */
    must(write(to, "x", 1) == 1);
    late = 1; /* @behind */
    return unused;
}

static void *reader(void *unused)
{
    char byte;
    must(read(from, &byte, 1) == 1);
    must(filled == 1); /* @use */
    filled = 2;        /* @own */
    return unused;
}

static void hand_over(void *(*passes_on)(void *))
{
    pthread_t threads[3];
    filled = 0; /* @clear */
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    if (passes_on)
        pthread_create(&threads[2], NULL, passes_on, NULL);
    for (int i = 0; i < 2 + (passes_on != NULL); i++)
        pthread_join(threads[i], NULL);
}

static void *copies(void *unused)
{
    must(tee(other[0], pair[1], 1, 0) == 1);
    return unused;
}

static void *moves(void *unused)
{
    must(splice(other[0], NULL, pair[1], NULL, 1, 0) == 1);
    return unused;
}

/* A read of one byte takes the whole packet. */
static void *sends_packets(void *unused)
{
    first = 1; /* @first */
    must(write(to, "AAAAAAAA", 8) == 8);
    second = 1; /* @second */
    must(write(to, "BBBBBBBB", 8) == 8);
    return unused;
}

static void *takes_packets(void *unused)
{
    char byte;
    must(read(from, &byte, 1) == 1 && byte == 'A' && first == 1);  /* @one */
    must(read(from, &byte, 1) == 1 && byte == 'B' && second == 1); /* @two */
    return unused;
}

static void both(void *(*a)(void *), void *(*b)(void *))
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, a, NULL);
    pthread_create(&threads[1], NULL, b, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static void *looks(void *unused)
{
    return late ? unused : NULL; /* @looks */
}

/* The pipe's end to read from arrives as another descriptor. */
static int sent(int end)
{
    char byte = 'x', control[CMSG_SPACE(sizeof end)] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof end);
    memcpy(CMSG_DATA(header), &end, sizeof end);
    int sockets[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0 && sendmsg(sockets[0], &message, 0) == 1);
    close(end);
    must(recvmsg(sockets[1], &message, 0) == 1);
    memcpy(&end, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof end);
    return end;
}

static void new_pipe(int flags)
{
    int ends[2];
    must(pipe2(ends, flags) == 0);
    from = ends[0];
    to = ends[1];
}

int main(void)
{
    pthread_t looking;
    pthread_create(&looking, NULL, looks, NULL);

    char name[64];
    snprintf(name, sizeof name, "/tmp/pipes_of_all_kinds.%d", (int)getpid());
    must(mkfifo(name, 0600) == 0);
    from = to = open(name, O_RDWR);
    must(to >= 0 && unlink(name) == 0);
    hand_over(NULL);

    new_pipe(0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", from);
    from = open(name, O_RDONLY);
    must(from >= 0);
    hand_over(NULL);

    new_pipe(0);
    from = sent(from);
    hand_over(NULL);

    for (int kind = 0; kind < 2; kind++) {
        new_pipe(0);
        must(pipe(pair) == 0);
        other[0] = from;
        from = pair[0];
        hand_over(kind ? moves : copies);
    }

    new_pipe(O_DIRECT);
    both(sends_packets, takes_packets);

    pthread_join(looking, NULL);
    return 0;
}
