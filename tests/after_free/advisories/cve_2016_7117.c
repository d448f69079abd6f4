// CVE-2016-7117, net/socket.c of Linux: when recvmmsg met an error behind its first message, it gave its reference to the
// socket back before it stored the error there. If the process closed the socket in between, that is freed memory. The
// fix gives the reference back last.
#include <pthread.h>
#include <stdlib.h>

struct sock {
    int references;
    int error;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put(struct sock *sock)
{
    pthread_mutex_lock(&lock);
    if (--sock->references == 0)
        free(sock); /* @free */
    pthread_mutex_unlock(&lock);
}

static void keep_error(struct sock *sock, int error)
{
    pthread_mutex_lock(&lock);
    sock->error = error; /* @use */
    pthread_mutex_unlock(&lock);
}

static void *receives(void *argument)
{
#ifdef FIXED
    keep_error(argument, 11);
    put(argument);
#else
    put(argument);
    keep_error(argument, 11);
#endif
    return NULL;
}

static void *closes(void *argument)
{
    put(argument);
    return NULL;
}

int main(void)
{
    struct sock *sock = calloc(1, sizeof *sock);
    sock->references = 2;
    pthread_t receiver, closer;
    pthread_create(&receiver, NULL, receives, sock);
    pthread_create(&closer, NULL, closes, sock);
    pthread_join(receiver, NULL);
    pthread_join(closer, NULL);
    return 0;
}
