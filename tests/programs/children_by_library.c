/* Children that the C library starts (popen, system), that a system call starts past it, and one that is told to end by
   its file: whoever waits for that one has what was written before. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t waits;
static int by_file, beside;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *starts(void *unused)
{
    char line[64];
    int status;
    FILE *stream = popen("echo hello", "r");
    must(stream != NULL && fgets(line, sizeof line, stream) != NULL && strcmp(line, "hello\n") == 0);
    must(pclose(stream) == 0);
    stream = popen("cat > /dev/null", "w");
    must(stream != NULL && fputs("hello\n", stream) >= 0 && pclose(stream) == 0);
    must(system("exit 3") == 3 << 8);
    beside = 1; /* @beside_children */
    pid_t child = syscall(SYS_fork);
    must(child >= 0);
    if (child == 0)
        _exit(7);
    must(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    by_file = 1; /* @kills */
    int file = pidfd_open(waits, 0);
    must(file >= 0 && pidfd_send_signal(file, SIGTERM, NULL, 0) == 0 && close(file) == 0);
    return unused;
}

static void *is_told(void *unused)
{
    int status;
    beside = 2; /* @beside_waiting */
    must(waitpid(waits, &status, 0) == waits && WIFSIGNALED(status));
    must(by_file == 1); /* @sees_death */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    waits = fork();
    must(waits >= 0);
    if (waits == 0)
        for (;;)
            pause();
    pthread_create(&threads[0], NULL, starts, NULL);
    pthread_create(&threads[1], NULL, is_told, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
