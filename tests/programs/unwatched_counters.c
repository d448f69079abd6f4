// Writes to eventfds that no epoll instance was told of order nothing, though there is an instance. One that is told of an eventfd
// finds what was written to it before, and later.
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int one, another, watched, poller;
static int late, by_poll;

static void *reader(void *unused) {
    struct epoll_event event = {.events = EPOLLIN};
    eventfd_write(another, 1);
    late++; /* @late_reader */
    epoll_ctl(poller, EPOLL_CTL_ADD, watched, &event);
    epoll_wait(poller, &event, 1, -1);
    return by_poll == 1 ? unused : &event; /* @read_poll */
}

int main(void) {
    pthread_t t;
    one = eventfd(0, 0);
    another = eventfd(0, 0);
    watched = eventfd(0, 0);
    poller = epoll_create1(0);
    pthread_create(&t, NULL, reader, NULL);
    late++; /* @late_main */
    eventfd_write(one, 1);
    by_poll = 1; /* @write_poll */
    eventfd_write(watched, 1);
    pthread_join(t, NULL);
    return 0;
}
