/* Sockets that are closed while another thread may still come to send to them or to receive from them. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];

static void *worker(void *unused)
{
    char letter;
    sendto(ends[0], "d", 1, 0, NULL, 0);             /* @send */
    recvfrom(ends[1], &letter, 1, 0, NULL, NULL);    /* @receive */
    return unused;
}

int main(void)
{
    pthread_t thread;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    pthread_create(&thread, NULL, worker, NULL);
    usleep(20000); /* the worker's turn */
    close(ends[0]); /* @close_sender */
    close(ends[1]); /* @close_receiver */
    pthread_join(thread, NULL);
    return 0;
}
