/* The program looks at the system's entries for itself, its threads and those it comes from, by their numbers, as test
 * frameworks do that ask whether a debugger has started them.
 *
 * The numbers are others in each run. A live run comes to the race only if they lead to what this run has instead. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int data, seen;

static void check(int fine, const char *what) {
    if (!fine) {
        printf("failed: %s\n", what);
        fflush(stdout);
        abort();
    }
}

/* The number of the parent of a process, if that is there; its name has no blanks. */
static int look(int process) {
    char path[64], line[4096], program[4096], name[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    int file = open(path, O_RDONLY);
    if (file < 0)
        return 0;
    ssize_t len = read(file, line, sizeof line - 1);
    check(len > 0, "read");
    close(file);
    line[len] = 0;
    char *rest = strrchr(line, ')');
    check(rest && sscanf(rest + 1, " %s %d", name, &parent) == 2, "parse");
    snprintf(path, sizeof path, "/proc/%d/exe", process);
    len = readlink(path, program, sizeof program - 1);
    if (len >= 0)
        program[len] = 0;
    return parent;
}

static void *writer(void *arg) {
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", gettid());
    FILE *file = fopen(path, "r");
    check(file && fgets(name, sizeof name, file), "the thread's name");
    fclose(file);
    data = 1; /* @write */
    return arg;
}

static void *reader(void *arg) {
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/task/%d", getpid(), gettid());
    check(stat(path, &about) == 0 && S_ISDIR(about.st_mode), "the thread's folder");
    seen = data; /* @read */
    return arg;
}

int main(void) {
    pthread_t threads[2];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", getpid());
    DIR *tasks = opendir(path);
    check(tasks != NULL, "the threads");
    closedir(tasks);
    strcat(path, "/../maps");
    check(access(path, R_OK) == 0, "the modules");
    int parent = look(getpid());
    check(parent == getppid(), "its parent");
    for (int above = 0; parent != 0; above++)
        parent = look(parent);
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("seen %d\n", seen);
    return 0;
}
