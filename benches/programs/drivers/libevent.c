/* Two event loops, each in a thread of its own, hand what comes on their own connection to the other one's, with libevent: a small
   proxy, after libevent's issue 1750. */

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static struct event_base *bases[2];
static struct bufferevent *connections[2];
static int sockets[2][2];

static void forward(struct bufferevent *from, void *number) {
    ptrdiff_t other = 1 - (ptrdiff_t)number;
    char byte;
    if (bufferevent_read(from, &byte, 1) == 1)
        bufferevent_write(connections[other], &byte, 1);
    event_base_loopbreak(bases[(ptrdiff_t)number]);
}

static void *loop(void *number) {
    event_base_dispatch(bases[(ptrdiff_t)number]);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    evthread_use_pthreads();
    for (ptrdiff_t i = 0; i < 2; i++) {
        bases[i] = event_base_new();
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]) || write(sockets[i][1], "x", 1) != 1)
            return 1;
        evutil_make_socket_nonblocking(sockets[i][0]);
        connections[i] = bufferevent_socket_new(bases[i], sockets[i][0], BEV_OPT_THREADSAFE);
        bufferevent_setcb(connections[i], forward, NULL, NULL, (void *)i);
        bufferevent_enable(connections[i], EV_READ);
    }
    for (ptrdiff_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, loop, (void *)i);
    for (ptrdiff_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
