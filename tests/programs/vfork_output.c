// A child of vfork makes its standard output the end of a pipe, in a process of its own: the parent's output goes on to
// mean what it did. So what one thread prints orders nothing with what another one reads from the pipe.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int shared;
static int ends[2];

static void *prints(void *unused) {
    shared = 1; /* @printing */
    if (write(STDOUT_FILENO, "parent\n", 7) != 7)
        abort();
    return unused;
}

static void *reads(void *unused) {
    char letter;
    if (read(ends[0], &letter, 1) != 1)
        abort();
    shared = 2; /* @reading */
    return unused;
}

int main(void) {
    pthread_t threads[2];
    if (pipe(ends) != 0)
        return 1;
    pid_t child = vfork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execlp("echo", "echo", "child", (char *)NULL);
        _exit(1);
    }
    if (waitpid(child, NULL, 0) < 0)
        return 1;
    pthread_create(&threads[0], NULL, prints, NULL);
    pthread_create(&threads[1], NULL, reads, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
