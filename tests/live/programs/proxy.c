/* A server that asks another one on the same machine, at the port that is its argument.
 *
 * main looks at the number of answers while a thread counts those that the other one has heard of, too.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int answers;
static struct sockaddr_in other = {.sin_family = AF_INET};

static void *ask(void *unused)
{
    char answer = 0;
    int end = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(end, (struct sockaddr *)&other, sizeof other) == 0 && read(end, &answer, 1) == 1
        && send(end, "t", 1, MSG_NOSIGNAL) == 1 && send(end, "y", 1, MSG_NOSIGNAL) == 1)
        answers++; /* @count */
    close(end);
    return unused;
}

int main(int count, char **arguments)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    other.sin_addr = own.sin_addr;
    other.sin_port = htons(atoi(arguments[count - 1]));
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&own, sizeof own) != 0 || listen(listening, 1) != 0)
        return 5;
    pthread_t asker;
    pthread_create(&asker, NULL, ask, NULL);
    int seen = answers; /* @look */
    (void)seen;
    pthread_join(asker, NULL);
    return 0;
}
