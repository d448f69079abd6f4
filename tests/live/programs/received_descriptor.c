/* A thread receives a descriptor before another one closes one with a smaller number, which the received one would get in
   the other order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2], early, data;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

union room {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr header;
};

static void send_descriptors(int first, int second)
{
    char byte = 'd';
    union room room;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(2 * sizeof(int))};
    memcpy(CMSG_DATA(header), (int[]){first, second}, 2 * sizeof(int));
    if (sendmsg(ends[0], &message, 0) != 1)
        abort();
}

static void *receives(void *unused)
{
    char byte;
    int received[2];
    union room room;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room, .msg_controllen = sizeof room};
    pthread_mutex_lock(&lock);
    if (recvmsg(ends[1], &message, 0) != 1)
        abort();
    memcpy(received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    data = received[0]; /* @write */
    pthread_mutex_unlock(&lock);
    if (fcntl(received[0], F_GETFD) < 0 || fcntl(received[1], F_GETFD) < 0 || close(received[0]) || close(received[1]))
        abort();
    return unused;
}

static void *closes(void *unused)
{
    pthread_mutex_lock(&lock);
    close(early);
    pthread_mutex_unlock(&lock);
    data = 2; /* @write_too */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    early = open("/dev/null", O_RDONLY);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        abort();
    send_descriptors(0, 1);
    pthread_create(&threads[0], NULL, receives, NULL);
    pthread_create(&threads[1], NULL, closes, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
