/* A date and a message lie where an earlier call left something on the stack: here the argument, in each byte. What is
 * between their fields stays so, and nobody looks at it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static int data;

__attribute__((no_sanitize("thread"), noinline)) static void leave_on_the_stack(const char *argument) {
    volatile char left[4096];
    for (unsigned at = 0; at < sizeof left; at++)
        left[at] = (char)(argument[0] - '0');
}

__attribute__((noinline)) static void date(void) {
    char text[32];
    time_t second = 86400;
    struct tm fields;
    if (!gmtime_r(&second, &fields) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &fields))
        abort();
    if (mktime(&fields) == -1)
        abort();
}

__attribute__((noinline)) static void message(int to, int from) {
    char byte = 1;
    struct iovec part = {&byte, 1};
    struct msghdr sent, received;
    sent.msg_name = received.msg_name = NULL;
    sent.msg_namelen = received.msg_namelen = 0;
    sent.msg_iov = received.msg_iov = &part;
    sent.msg_iovlen = received.msg_iovlen = 1;
    sent.msg_control = received.msg_control = NULL;
    sent.msg_controllen = received.msg_controllen = 0;
    sent.msg_flags = received.msg_flags = 0;
    for (int i = 0; i < 2; i++)
        if (sendmsg(to, &sent, 0) != 1 || recvmsg(from, &received, 0) != 1)
            abort();
}

static void *writer(void *arg) {
    data = 1; /* @write */
    return arg;
}

int main(int argc, char **argv) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        abort();
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    leave_on_the_stack(argc > 1 ? argv[1] : "0");
    date();
    leave_on_the_stack(argc > 1 ? argv[1] : "0");
    message(ends[0], ends[1]);
    data = 2; /* @write_too */
    pthread_join(thread, NULL);
    return 0;
}
