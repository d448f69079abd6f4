/* Two connections by TCP within a process: what passes through one orders nothing that only the other one sees. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int first[2], second[2];
static int handed, beside, answered;

static void must(int holds)
{
    if (!holds)
        abort();
}

/* The one that connects, and the one that is accepted. */
static void connection(int ends[2], int family)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = {.any.sa_family = family};
    if (family == AF_INET)
        address.four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address.six.sin6_addr = in6addr_loopback;
    socklen_t len = family == AF_INET ? sizeof address.four : sizeof address.six;
    int listening = socket(family, SOCK_STREAM, 0);
    if (family == AF_INET6 && bind(listening, &address.any, len) != 0) {
        /* There is no such network here. */
        close(listening);
        connection(ends, AF_INET);
        return;
    }
    must(family == AF_INET6 || bind(listening, &address.any, len) == 0);
    must(listen(listening, 1) == 0 && getsockname(listening, &address.any, &len) == 0);
    ends[0] = socket(family, SOCK_STREAM, 0);
    must(connect(ends[0], &address.any, len) == 0);
    ends[1] = accept(listening, NULL, NULL);
    must(ends[1] >= 0);
    close(listening);
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
    char byte;
    must(read(second[1], &byte, 1) == 1);
    beside = 2; /* @behind_second */
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    void *(*const roles[])(void *) = {asks, answers, sends, receives};
    connection(first, AF_INET);
    connection(second, AF_INET6);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
