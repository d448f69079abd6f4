/* Datagrams to two ports of the process's own: what is sent to one orders nothing that only those who receive at the other
   one see. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int servers[2];
static struct sockaddr_in ports[2];
static int handed, beside, answered, connected;

static void must(int holds)
{
    if (!holds)
        abort();
}

static int server(struct sockaddr_in *address)
{
    socklen_t len = sizeof *address;
    int file = socket(AF_INET, SOCK_DGRAM, 0);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(file, (struct sockaddr *)address, len) == 0);
    must(getsockname(file, (struct sockaddr *)address, &len) == 0);
    return file;
}

/* Has no port before it sends. */
static void *asks(void *unused)
{
    char byte;
    int file = socket(AF_INET, SOCK_DGRAM, 0);
    handed = 1; /* @hands */
    must(sendto(file, "x", 1, 0, (struct sockaddr *)&ports[0], sizeof ports[0]) == 1);
    beside = 1; /* @behind_first */
    must(recv(file, &byte, 1, 0) == 1);
    must(answered == 1); /* @sees_answer */
    return unused;
}

static void *answers(void *unused)
{
    char byte;
    struct sockaddr_in from;
    socklen_t len = sizeof from;
    must(recvfrom(servers[0], &byte, 1, 0, (struct sockaddr *)&from, &len) == 1);
    must(handed == 1); /* @handed */
    answered = 1;      /* @answers */
    must(sendto(servers[0], "z", 1, 0, (struct sockaddr *)&from, len) == 1);
    return unused;
}

static void *sends(void *unused)
{
    int file = socket(AF_INET, SOCK_DGRAM, 0);
    must(connect(file, (struct sockaddr *)&ports[1], sizeof ports[1]) == 0);
    connected = 1; /* @connects */
    must(write(file, "x", 1) == 1);
    return unused;
}

static void *receives(void *unused)
{
    char byte;
    must(read(servers[1], &byte, 1) == 1);
    must(connected == 1); /* @behind_connected */
    beside = 2;           /* @behind_second */
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    void *(*const roles[])(void *) = {asks, answers, sends, receives};
    for (int i = 0; i < 2; i++)
        servers[i] = server(&ports[i]);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, roles[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
