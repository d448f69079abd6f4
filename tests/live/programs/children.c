/* Children and grandchildren whose threads race; which one does is the first argument. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long shared, guarded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long *inherited;

static void *first(void *unused) {
    shared = 1; // @a the first access
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *second(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    if (*inherited == 41)
        shared = 2; // @b the second access
    return unused;
}

static void race(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}

static int status_of(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* Something to schedule before the fork. */
static void *works(void *unused) {
    for (int i = 0; i < 200; i++)
        guarded += i;
    return unused;
}

int main(int count, char **arguments) {
    const char *how = arguments[1];
    inherited = malloc(sizeof *inherited);
    *inherited = 41;
    if (!strcmp(how, "race")) {
        race();
        return 0;
    }
    if (!strcmp(how, "nothing"))
        return 7;
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    pthread_join(thread, 0);
    if (!strcmp(how, "tree")) {
        /* The second child's second child races, and outlives it. */
        if (fork() == 0)
            _exit(1);
        pid_t child = fork();
        if (!child) {
            if (fork() == 0)
                _exit(2);
            if (fork() == 0) {
                race();
                _exit(3);
            }
            _exit(4);
        }
        return status_of(child) == 4 ? 0 : 1;
    }
    if (!strcmp(how, "executed")) {
        /* A program that was executed before counts, and its child is one of its own. */
        pid_t other = fork();
        if (!other) {
            execl(arguments[0], arguments[0], "child", (char *)0);
            _exit(1);
        }
        return status_of(other);
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    pid_t child = fork();
    if (!child) {
        clock_gettime(CLOCK_REALTIME, &now);
        if (now.tv_nsec % 2 == 0)
            guarded = 5;
        race();
        _exit(3);
    }
    return status_of(child) == 3 ? 0 : 1;
}
