/* A server with one client that asks once, and a file that each run takes away. With an argument, it is that client.
 *
 * main looks at the number of requests while the thread that serves them counts.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int requests;
static int listening;

static void *serve(void *unused)
{
    char request;
    int client = accept(listening, NULL, NULL);
    if (read(client, &request, 1) == 1)
        requests++; /* @count */
    close(client);
    return unused;
}

int main(int count, char **arguments)
{
    (void)arguments;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    if (count > 1) {
        for (int tries = 0; connect(end, (struct sockaddr *)&address, sizeof address) != 0; tries++) {
            if (tries == 3000)
                return 4;
            usleep(10000);
        }
        return write(end, "?", 1) != 1;
    }
    if (unlink("todo") != 0)
        return 3;
    listening = end;
    unlink(address.sun_path);
    if (bind(end, (struct sockaddr *)&address, sizeof address) != 0 || listen(end, 1) != 0)
        return 5;
    pthread_t server;
    pthread_create(&server, NULL, serve, NULL);
    int seen = requests; /* @look */
    (void)seen;
    pthread_join(server, NULL);
    return 0;
}
