/* Addresses that the program may not access, given to the kernel: each call fails with EFAULT, or does what it can. Prints what each
   call returned; sanitized and recorded, or not, the lines are the same. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <mqueue.h>
#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

#define TELL(call) tell(#call, (long)(call))

/* Who set errno is not recorded. */
__attribute__((no_sanitize_thread)) static void tell(const char *call, long result)
{
    printf("%s: %ld %s\n", call, result, result < 0 ? strerrorname_np(errno) : "");
}

static char *bad_list[] = {(char *)8, NULL};

static void *nothing(void *unused)
{
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);

    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + page, page, PROT_NONE);
    char *edge = pages + page - 16;
    void *volatile bad = (void *)8;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct iovec half = {edge, 64}, none = {bad, 8};
    struct msghdr message = {.msg_iov = bad, .msg_iovlen = 1}, parts = {.msg_iov = &none, .msg_iovlen = 1};
    int ends[2], pair[2], file = open("/dev/null", O_RDWR);
    pipe(ends);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    int queue = epoll_create1(0), counter = eventfd(0, 0);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(pair[1], F_SETFL, O_NONBLOCK);
    struct timespec now = {0, 0};
    fd_set empty;
    FD_ZERO(&empty);

    TELL(poll(bad, 1, 0));
    TELL(poll(bad, 1, 10));
    TELL(poll((struct pollfd *)(pages + page), 2, 10));
    TELL(ppoll(bad, 1, &now, NULL));
    TELL(ppoll(NULL, 0, &now, bad));
    struct timeval soon = {0, 1000};
    TELL(select(1, bad, NULL, NULL, &soon));
    TELL(select(1, NULL, bad, NULL, &soon));
    TELL(epoll_ctl(queue, EPOLL_CTL_ADD, ends[0], bad));
    TELL(epoll_wait(queue, bad, 1, 0));
    TELL(epoll_wait(queue, bad, 1, 5));
    TELL(epoll_pwait(queue, bad, 1, 5, bad));
    TELL(write(file, bad, 8));
    TELL(write(ends[1], bad, 8));
    TELL(write(ends[1], edge, 64));
    TELL(write(ends[1], edge, 16));
    TELL(read(ends[0], bad, 8));
    TELL(read(ends[0], edge, 64));
    TELL(read(ends[0], pages, 64));
    TELL(read(ends[0], pages, 64));
    TELL(read(counter, pages, 4));
    TELL(writev(ends[1], bad, 1));
    TELL(writev(ends[1], &none, 1));
    TELL(writev(ends[1], &half, 1));
    TELL(writev(ends[1], &half, -1));
    TELL(readv(ends[0], bad, 1));
    TELL(readv(ends[0], &none, 1));
    TELL(readv(ends[0], &half, -1));
    TELL(pwrite(file, bad, 8, 0));
    TELL(pread(file, bad, 8, 0));
    TELL(send(pair[0], bad, 8, 0));
    TELL(sendto(pair[0], bad, 8, 0, NULL, 0));
    TELL(sendto(pair[0], pages, 8, 0, bad, 16));
    TELL(sendmsg(pair[0], bad, 0));
    TELL(sendmsg(pair[0], &message, 0));
    TELL(sendmsg(pair[0], &parts, 0));
    TELL(sendmmsg(pair[0], bad, 1, 0));
    TELL(recv(pair[1], bad, 8, 0));
    TELL(recvfrom(pair[1], pages, 8, 0, bad, bad));
    TELL(recvmsg(pair[1], bad, 0));
    TELL(recvmsg(pair[1], &message, 0));
    TELL(recvmmsg(pair[1], bad, 1, 0, NULL));
    TELL(connect(pair[0], bad, 16));
    TELL(bind(socket(AF_UNIX, SOCK_STREAM, 0), bad, 16));
    TELL(bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)(edge + 15), 16));
    TELL(accept(pair[0], bad, bad));
    TELL(accept(pair[0], (struct sockaddr *)&name, bad));
    TELL(getsockname(pair[0], (struct sockaddr *)&name, bad));
    TELL(getpeername(pair[0], bad, bad));
    TELL(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, pages, bad));
    TELL(setsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, bad, 4));
    TELL(pipe(bad));
    TELL(pipe2(bad, 0));
    TELL(socketpair(AF_UNIX, SOCK_STREAM, 0, bad));
    TELL(open(bad, O_RDONLY));
    TELL(openat(AT_FDCWD, bad, O_RDONLY));
    TELL(open(pages + page, O_RDONLY));
    memset(edge, '/', 16);
    TELL(open(edge, O_RDONLY));
    TELL(readlink(bad, pages, 8));
    TELL(stat(bad, (struct stat *)pages));
    TELL(stat("/", bad));
    TELL(fstat(0, bad));
    TELL(sendfile(file, 0, bad, 1));
    TELL(nanosleep(bad, NULL));
    TELL(clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL));
    TELL(sched_setaffinity(0, 8, bad));
    TELL(sched_getaffinity(0, 8, bad));
    TELL(sched_setparam(0, bad));
    TELL(sigpending(bad));
    TELL(sigsuspend(bad));
    TELL(sigtimedwait(bad, NULL, &now));
    TELL(getrusage(RUSAGE_SELF, bad));
    TELL(wait4(-1, bad, WNOHANG, bad));
    TELL(getrandom(bad, 8, 0));
    TELL(syscall(SYS_futex, bad, FUTEX_WAKE_PRIVATE, 1));
    TELL(syscall(SYS_futex, bad, FUTEX_WAIT_PRIVATE, 0, NULL));
    TELL(syscall(SYS_futex, pages + page, FUTEX_WAIT_PRIVATE, 0, NULL));
    int word = 1;
    TELL(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, pages + page));
    int set = semget(IPC_PRIVATE, 1, 0600), letters = msgget(IPC_PRIVATE, 0600);
    TELL(semop(set, bad, 1));
    TELL(semtimedop(set, bad, 1, NULL));
    TELL(msgsnd(letters, bad, 8, IPC_NOWAIT));
    TELL(msgrcv(letters, bad, 8, 0, IPC_NOWAIT));
    semctl(set, 0, IPC_RMID);
    msgctl(letters, IPC_RMID, NULL);
    mqd_t mail = mq_open("/bad_pointers", O_CREAT | O_RDWR | O_NONBLOCK, 0600, NULL);
    if (mail >= 0) {
        TELL(mq_send(mail, bad, 8, 0));
        TELL(mq_timedreceive(mail, pages, 8192, NULL, bad));
        mq_unlink("/bad_pointers");
    }
    TELL(execve(bad, NULL, NULL));
    TELL(execve("/bin/true", bad, NULL));
    TELL(execve("/bin/true", NULL, bad));
    TELL(execve("/bin/true", NULL, bad_list));
    TELL(prctl(PR_SET_NAME, bad, 0, 0, 0));
    memset(edge, 'n', 16);
    TELL(prctl(PR_SET_NAME, edge, 0, 0, 0));
    struct pollfd one = {ends[1], POLLOUT, 0};
    TELL(poll(&one, 1, 0));
    return 0;
}
