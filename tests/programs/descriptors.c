/* Descriptors that are closed while another thread may still come to use them, and others that are handed on in good order.
 *
 * A call uses the descriptor that it is given, as an access uses a block of memory, and closing ends it. The number of a
 * closed descriptor may be given out again at once; then it means another file, and what is done with that is nobody else's
 * business. A descriptor that is replaced by dup2 stays open all the time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int used, closed_twice, replaced, handed[2], sockets[2], wakes[2];
static char shared, own[4];

static void *worker(void *unused)
{
    read(used, &own[0], 1);             /* @read */
    close(closed_twice);                /* @close_again */
    read(replaced, &own[1], 1);         /* @read_replaced */
    send(sockets[0], "s", 1, 0);        /* @send */
    close(STDIN_FILENO);                /* @close_input */
    read(wakes[0], &shared, 1);         /* @fill */
    return unused;
}

static void *reuser(void *unused)
{
    char byte;
    int file = open("/dev/zero", O_RDONLY);
    read(file, &byte, 1); /* @own_read */
    close(file);          /* @own_close */
    if (read(handed[0], &byte, 1) == 1) { /* @handed_read */
        close(handed[0]);                 /* @handed_close */
        close(handed[1]);                 /* @handed_close_other */
    }
    read(wakes[0], &shared, 1); /* @fill_too */
    return unused;
}

int main(void)
{
    pthread_t a, b;
    char byte;
    used = open("/dev/zero", O_RDONLY);
    closed_twice = open("/dev/zero", O_RDONLY);
    replaced = open("/dev/zero", O_RDONLY);
    int other = open("/dev/zero", O_RDONLY);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    pipe(handed);
    pipe(wakes);
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, reuser, NULL);
    write(handed[1], "h", 1); /* @handed_write */
    write(wakes[1], "ww", 2);
    dup2(other, replaced); /* @dup */
    read(STDIN_FILENO, &byte, 0); /* @input */
    usleep(20000); /* the workers' turn */
    close(used);              /* @close */
    close(closed_twice);      /* @close_too */
    close(sockets[0]);        /* @close_socket */
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    close(replaced); /* @close_replaced */
    close(wakes[0]); /* @close_wakes */
    return 0;
}
