/* Connections that one epoll instance watches: what it tells of one comes behind what was written there, and orders nothing
   that was only written to another one. Of a pipe it tells again though nobody has read the first byte. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int first[2], second[2], edges[2], answers[2];
static int over_first, over_second, over_edges, one, other;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *sends_first(void *unused)
{
    over_first = 1; /* @over_first */
    one = 1;        /* @one_before */
    must(send(first[0], "x", 1, 0) == 1);
    other = 1; /* @other_behind */
    return unused;
}

static void *sends_second(void *unused)
{
    over_second = 1; /* @over_second */
    other = 2;       /* @other_before */
    must(send(second[0], "x", 1, 0) == 1);
    one = 2; /* @one_behind */
    return unused;
}

static void *writes_twice(void *unused)
{
    char byte;
    must(write(edges[1], "x", 1) == 1);
    must(read(answers[0], &byte, 1) == 1);
    over_edges = 1; /* @over_edges */
    must(write(edges[1], "y", 1) == 1);
    return unused;
}

static void watch(int instance, int file, unsigned events)
{
    struct epoll_event event = {.events = events, .data.fd = file};
    must(epoll_ctl(instance, EPOLL_CTL_ADD, file, &event) == 0);
}

static void *watches(void *unused)
{
    int instance = epoll_create1(0), told = 0;
    watch(instance, first[1], EPOLLIN);
    watch(instance, second[1], EPOLLIN);
    watch(instance, edges[0], EPOLLIN | EPOLLET);
    for (int left = 4; left > 0;) {
        struct epoll_event events[3];
        int count = epoll_wait(instance, events, 3, -1);
        must(count > 0);
        for (int i = 0; i < count; i++, left--) {
            char byte;
            if (events[i].data.fd == edges[0]) {
                if (++told == 1)
                    must(write(answers[1], "a", 1) == 1);
                else
                    must(over_edges == 1); /* @sees_edges */
            } else if (events[i].data.fd == first[1]) {
                must(over_first == 1); /* @sees_first */
                must(read(first[1], &byte, 1) == 1);
            } else {
                must(over_second == 1); /* @sees_second */
                must(read(second[1], &byte, 1) == 1);
            }
        }
    }
    close(instance);
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    void *(*const roles[])(void *) = {watches, sends_first, sends_second, writes_twice};
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, first) == 0);
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, second) == 0);
    must(pipe(edges) == 0 && pipe(answers) == 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
