/* Nobody reads from these pipes: that one of them is ready is all that the second thread waits for, and looks at. Three
 * functions tell it: `pselect`, `epoll_pwait2`, and `poll` as a program calls it that was built with _FORTIFY_SOURCE.
 * Each orders what was stored before. What is stored afterwards races. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

int __poll_chk(struct pollfd *files, nfds_t count, int limit, size_t room);

static int first[2], second[2], third[2];
static int for_select, for_epoll, for_poll, late;

static void *waits(void *unused)
{
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(first[0], &readable);
    if (pselect(first[0] + 1, &readable, NULL, NULL, NULL, NULL) != 1)
        exit(1);
    int seen = for_select; /* @selected */

    struct epoll_event wanted = {.events = EPOLLIN}, event;
    int poll = epoll_create1(0);
    if (epoll_ctl(poll, EPOLL_CTL_ADD, second[0], &wanted) != 0 || epoll_pwait2(poll, &event, 1, NULL, NULL) != 1)
        exit(1);
    seen += for_epoll; /* @woken */

    struct pollfd file = {.fd = third[0], .events = POLLIN};
    if (__poll_chk(&file, 1, -1, sizeof file) != 1)
        exit(1);
    seen += for_poll; /* @polled */
    seen += late;     /* @late */
    (void)seen;
    return unused;
}

static void wake(int pipe[2])
{
    if (write(pipe[1], "x", 1) != 1)
        exit(1);
}

int main(void)
{
    if (pipe(first) != 0 || pipe(second) != 0 || pipe(third) != 0)
        return 1;
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    for_select = 1; /* @before_selected */
    wake(first);
    for_epoll = 1; /* @before_woken */
    wake(second);
    for_poll = 1; /* @before_polled */
    wake(third);
    late = 1; /* @stores_late */
    pthread_join(thread, NULL);
    return 0;
}
