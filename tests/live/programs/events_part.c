/* A library that waits for events, as libevent does. It is not instrumented. */
#include <sys/epoll.h>

int next_event(int instance)
{
    struct epoll_event event;
    int ready = epoll_wait(instance, &event, 1, 20);
    return ready > 0 ? event.data.fd : -1;
}
