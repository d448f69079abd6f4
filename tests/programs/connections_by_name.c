/* Connections within the machine, of a process with itself: what passes through one orders nothing that only another one
   sees, also if its first end was closed before the other one was accepted. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int first[2], second[2], closed;
static int handed, beside, answered, before_closing;

static void must(int holds)
{
    if (!holds)
        abort();
}

static socklen_t name(struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    /* Not in the file system. */
    int len = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "connections_by_name %d", (int)getpid());
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* At the other end is this process itself, also in a live run, which has another number. */
static void is_own(int connection)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    must(getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0);
    must(len == sizeof peer && peer.pid == getpid());
}

/* The one that connects, and the one that is accepted. */
static void connection(int listening, int ends[2], int kind)
{
    struct sockaddr_un address;
    socklen_t len = name(&address);
    ends[0] = socket(AF_UNIX, kind, 0);
    must(connect(ends[0], (struct sockaddr *)&address, len) == 0);
    ends[1] = -1;
    if (listening >= 0) {
        must((ends[1] = accept(listening, NULL, NULL)) >= 0);
        is_own(ends[1]);
    }
}

static int listens(int kind)
{
    struct sockaddr_un address;
    socklen_t len = name(&address);
    int listening = socket(AF_UNIX, kind, 0);
    must(bind(listening, (struct sockaddr *)&address, len) == 0 && listen(listening, 4) == 0);
    return listening;
}

static void *asks(void *unused)
{
    char byte;
    handed = 1; /* @hands */
    must(write(first[0], "x", 1) == 1);
    beside = 1; /* @behind_first */
    must(write(first[0], "y", 1) == 1);
    must(read(first[0], &byte, 1) == 1);
    must(answered == 1); /* @sees_answer */
    return unused;
}

static void *answers(void *unused)
{
    char bytes[2];
    must(recv(first[1], bytes, 2, MSG_WAITALL) == 2);
    must(handed == 1); /* @handed */
    answered = 1;      /* @answers */
    must(send(first[1], "z", 1, 0) == 1);
    return unused;
}

static void *sends(void *unused)
{
    must(write(second[0], "x", 1) == 1);
    return unused;
}

static void *receives(void *unused)
{
    char bytes[4];
    must(read(second[1], bytes, 4) == 1);
    beside = 2; /* @behind_second */
    must(read(closed, bytes, 4) == 1);
    must(before_closing == 1); /* @behind_closed */
    return unused;
}

/* Its socket is gone before anybody has accepted it. */
static void *closes(void *unused)
{
    int ends[2];
    connection(-1, ends, SOCK_STREAM);
    before_closing = 1; /* @before_closing */
    must(write(ends[0], "c", 1) == 1);
    close(ends[0]);
    return unused;
}

int main(void)
{
    pthread_t threads[5];
    void *(*const roles[])(void *) = {asks, answers, sends, receives, closes};
    int listening = listens(SOCK_SEQPACKET);
    connection(listening, second, SOCK_SEQPACKET);
    close(listening);
    listening = listens(SOCK_STREAM);
    connection(listening, first, SOCK_STREAM);
    pthread_create(&threads[4], NULL, roles[4], NULL);
    usleep(20000); /* the turn of the one that closes */
    must((closed = accept(listening, NULL, NULL)) >= 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
