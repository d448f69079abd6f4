/* The program depends on numbers and names that the system gives out, and says them to the system again.
 *
 * A live run comes to the race only if it gets those of the recorded run, and if the system knows what is meant by them. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int data, seen;
/* Each of these is read again, and so compared. */
static long process, parent, thread, by_call, child, by_vfork, waited, group, inode, random_number;
static unsigned short port, peer;
static char folder[] = "folder.XXXXXX", file[] = "file.XXXXXX.txt";

static void check(int fine, const char *what) {
    if (!fine) {
        printf("failed: %s\n", what);
        fflush(stdout);
        abort();
    }
}

static void *writer(void *arg) {
    data = 1; /* @write */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *reader(void *arg) {
    thread = gettid();
    by_call = syscall(SYS_gettid);
    check(thread == by_call, "one thread, one number");
    check(tgkill(getpid(), thread, 0) == 0, "tgkill");
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    seen = data; /* @read */
    return arg;
}

static void processes(void) {
    process = getpid();
    parent = getppid();
    group = getpgrp();
    check(kill(process, 0) == 0, "kill itself");
    check(getpgid(process) == group, "getpgid");
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    check(kill(child, SIGKILL) == 0, "kill the child");
    int status;
    waited = waitpid(child, &status, 0);
    check(waited == child && WIFSIGNALED(status), "waitpid");
    by_vfork = vfork();
    if (by_vfork == 0)
        _exit(3);
    check(waitpid(by_vfork, &status, 0) == by_vfork && WEXITSTATUS(status) == 3, "waitpid after vfork");
}

static void ports(void) {
    struct sockaddr_in own = {.sin_family = AF_INET}, other;
    socklen_t len = sizeof own;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(listener, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    check(listen(listener, 1) == 0, "listen");
    check(getsockname(listener, (struct sockaddr *)&own, &len) == 0, "getsockname");
    port = own.sin_port;
    printf("port %d\n", ntohs(port));
    check(connect(one, (struct sockaddr *)&own, sizeof own) == 0, "connect");
    len = sizeof other;
    int two = accept(listener, (struct sockaddr *)&other, &len);
    check(two >= 0, "accept");
    peer = other.sin_port;
    len = sizeof own;
    check(getsockname(one, (struct sockaddr *)&own, &len) == 0 && own.sin_port == peer, "the other end");
    close(one);
    close(two);
    close(listener);
    /* An answer goes to where the question came from. */
    int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
    own.sin_port = 0;
    check(bind(a, (struct sockaddr *)&own, sizeof own) == 0, "bind");
    getsockname(a, (struct sockaddr *)&own, &len);
    char text[2] = "?";
    check(sendto(b, text, 1, 0, (struct sockaddr *)&own, sizeof own) == 1, "ask");
    check(recvfrom(a, text, 1, 0, (struct sockaddr *)&other, &len) == 1, "be asked");
    check(sendto(a, "!", 1, 0, (struct sockaddr *)&other, len) == 1, "answer");
    check(recv(b, text, 1, 0) == 1 && text[0] == '!', "be answered");
}

static void names(int keep) {
    struct stat about;
    check(mkdtemp(folder) != NULL, "mkdtemp");
    check(stat(folder, &about) == 0 && S_ISDIR(about.st_mode), "the folder");
    inode = about.st_ino;
    int opened = mkstemps(file, 4);
    check(opened >= 0 && write(opened, "text", 4) == 4, "mkstemps");
    check(stat(file, &about) == 0 && about.st_size == 4, "the file");
    if (!keep) {
        check(rmdir(folder) == 0 && unlink(file) == 0, "remove");
    }
}

int main(int count, char **words) {
    pthread_t threads[2];
    processes();
    ports();
    names(count > 1 && strcmp(words[1], "keep") == 0);
    random_number = arc4random();
    printf("%ld %ld %ld %ld %ld %ld %ld %d %d\n", process, parent, child, waited, group, inode, random_number, port, peer);
    for (const char *name = folder; *name; name++)
        check(*name > ' ', "characters");
    for (const char *name = file; *name; name++)
        check(*name > ' ', "characters");
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("seen %d, thread %ld\n", seen, thread);
    return 0;
}
