// What one thread writes before it writes to a pipe, another may read after it has read from the pipe: the kernel orders
// the two, by pipes, pairs of sockets, eventfd, epoll, and by giving a closed descriptor's number out again. What
// happens after the write to the pipe races.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2], pair[2], counter, poller, file;
static int by_pipe, by_end, by_pair, by_counter, by_poll, by_number, after;

static void *reader(void *unused) {
    char byte;
    uint64_t count;
    struct epoll_event event;
    read(ends[0], &byte, 1);
    int sum = by_pipe; /* @read_pipe */
    sum += after; /* @read_after */
    read(ends[0], &byte, 1);
    sum += by_end; /* @read_end */
    recv(pair[1], &byte, 1, 0);
    sum += by_pair; /* @read_pair */
    read(counter, &count, sizeof count);
    sum += by_counter; /* @read_counter */
    epoll_wait(poller, &event, 1, -1);
    sum += *(int *)event.data.ptr; /* @read_poll */
    if (open("/dev/null", O_RDONLY) == file) sum += by_number; /* @read_number */
    return sum == 7 ? unused : &sum;
}

int main(void) {
    pthread_t t;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &by_poll};
    char byte;
    /* The lowest number of all: it is given out again first. */
    file = open("/dev/zero", O_RDONLY);
    pipe(ends);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    counter = eventfd(0, 0);
    poller = epoll_create1(0);
    pthread_create(&t, NULL, reader, NULL);
    by_pipe = 1; /* @write_pipe */
    write(ends[1], "x", 1);
    after = 2; /* @write_after */
    by_end = 1; /* @write_end */
    close(ends[1]);
    by_pair = 1; /* @write_pair */
    send(pair[0], "x", 1, 0);
    by_counter = 1; /* @write_counter */
    eventfd_write(counter, 1);
    by_number = 1; /* @write_number */
    close(file);
    by_poll = 1; /* @write_poll */
    send(pair[0], "x", 1, 0);
    epoll_ctl(poller, EPOLL_CTL_ADD, pair[1], &event);
    pthread_join(t, NULL);
    return 0;
}
