/* As empty_socket, but the reader looks for errors of the connection, not for what was sent: that it finds none says
 * nothing of the send, so it may come after it.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int to_read, to_write, data, seen;

static void *reader(void *unused)
{
    char letter;
    pthread_mutex_lock(&m);
    if (recv(to_read, &letter, 1, MSG_ERRQUEUE | MSG_DONTWAIT) != 1)
        seen = data; /* @read */
    pthread_mutex_unlock(&m);
    return unused;
}

static void *writer(void *unused)
{
    pthread_mutex_lock(&m);
    if (send(to_write, "x", 1, 0) != 1)
        seen = 2;
    pthread_mutex_unlock(&m);
    data = 1; /* @write */
    return unused;
}

int main(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof own;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&own, sizeof own) != 0 || listen(listening, 1) != 0)
        return 3;
    getsockname(listening, (struct sockaddr *)&own, &length);
    to_write = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(to_write, (struct sockaddr *)&own, sizeof own) != 0)
        return 4;
    to_read = accept(listening, NULL, NULL);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
