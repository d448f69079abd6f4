/* An epoll instance that another one watches, and one that poll is asked about: both tell of what was written to what the
   inner one watches. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int ends[2], counter, outer, inner, other;
static int handed, counted;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void watch(int instance, int file)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    must(epoll_ctl(instance, EPOLL_CTL_ADD, file, &event) == 0);
}

static void *writes(void *unused)
{
    handed = 1; /* @hands */
    must(write(ends[1], "x", 1) == 1);
    counted = 1; /* @counts */
    must(eventfd_write(counter, 1) == 0);
    return unused;
}

static void *waits(void *unused)
{
    struct epoll_event event;
    must(epoll_wait(outer, &event, 1, -1) == 1 && event.data.fd == inner);
    must(handed == 1); /* @handed */
    return unused;
}

static void *polls(void *unused)
{
    struct pollfd entry = {.fd = other, .events = POLLIN};
    must(poll(&entry, 1, -1) == 1);
    must(counted == 1); /* @counted */
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    void *(*const roles[])(void *) = {waits, polls, writes};
    must(pipe(ends) == 0);
    counter = eventfd(0, 0);
    inner = epoll_create1(0);
    outer = epoll_create1(0);
    other = epoll_create1(0);
    watch(inner, ends[0]);
    watch(outer, inner);
    watch(other, counter);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
