/* A server that waits for events by a library that is not instrumented, and says each request back. With an argument, it is a client: one
   that comes late and waits for its answers, or one that comes at once, says everything, and leaves. main looks at the number of requests while
   the thread that serves them counts. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int requests, ticks, listening, instance;
static int (*next_event)(int);

static void watch(int file)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = file};
    epoll_ctl(instance, EPOLL_CTL_ADD, file, &event);
}

static void *serve(void *unused)
{
    for (;;) {
        int file = next_event(instance);
        if (file < 0) {
            ticks++;
            continue;
        }
        if (file == listening) {
            watch(accept4(file, NULL, NULL, SOCK_NONBLOCK));
            continue;
        }
        char request;
        ssize_t got;
        while ((got = read(file, &request, 1)) == 1) {
            if (send(file, &request, 1, MSG_NOSIGNAL) != 1)
                return unused;
            if (request == '3')
                requests++; /* @count */
        }
        if (got == 0 || errno != EAGAIN)
            break;
    }
    close(instance);
    return unused;
}

static int be_client(int end, int patient)
{
    char answer;
    if (!patient)
        return send(end, "xyz", 3, MSG_NOSIGNAL) != 3;
    for (const char *request = "123"; *request; request++) {
        usleep(30000);
        if (write(end, request, 1) != 1 || read(end, &answer, 1) != 1 || answer != *request)
            return 6;
    }
    return 0;
}

int main(int count, char **arguments)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    if (count > 1) {
        int patient = strcmp(arguments[1], "patient") == 0;
        usleep(patient ? 100000 : 0);
        for (int tries = 0; connect(end, (struct sockaddr *)&address, sizeof address) != 0; tries++) {
            if (tries == 3000)
                return 4;
            usleep(1000);
        }
        return be_client(end, patient);
    }
    listening = end;
    unlink(address.sun_path);
    if (bind(end, (struct sockaddr *)&address, sizeof address) != 0 || listen(end, 1) != 0)
        return 5;
    *(void **)&next_event = dlsym(dlopen("./events.so", RTLD_NOW), "next_event");
    instance = epoll_create1(0);
    watch(end);
    pthread_t server;
    pthread_create(&server, NULL, serve, NULL);
    int seen = requests; /* @look */
    (void)seen;
    pthread_join(server, NULL);
    return 0;
}
