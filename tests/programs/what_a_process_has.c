/* What a process has once hands over as a variable does: its folder, its mask, its limits and what it does at a signal.
   Questions alone, and changes that nobody asks for, order nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_folder, by_mask, by_limit, by_action, beside_questions, beside_changes;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *changes(void *unused)
{
    struct rlimit limit;
    struct sigaction action;
    beside_questions = 1; /* @asks_first */
    must(getrlimit(RLIMIT_CORE, &limit) == 0);
    by_folder = 1; /* @changes_folder */
    must(chdir("/") == 0);
    by_mask = 1; /* @changes_mask */
    umask(027);
    by_limit = 1; /* @changes_limit */
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_cur / 2;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    by_action = 1; /* @changes_action */
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_IGN;
    must(sigaction(SIGUSR1, &action, NULL) == 0);
    beside_changes = 1; /* @changes_first */
    must(sigaction(SIGUSR2, &action, NULL) == 0);
    return unused;
}

static void *asks(void *limit_at_first)
{
    static char folder[64];
    const struct rlimit *first = limit_at_first;
    struct rlimit limit;
    struct sigaction action;
    must(getrlimit(RLIMIT_CORE, &limit) == 0);
    beside_questions = 2; /* @asks_later */
    while (!getcwd(folder, sizeof folder) || strcmp(folder, "/") != 0)
        usleep(1000);
    must(by_folder == 1); /* @told_folder */
    while (umask(022) != 027)
        usleep(1000);
    must(by_mask == 1); /* @told_mask */
    while (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == first->rlim_cur)
        usleep(1000);
    must(by_limit == 1); /* @told_limit */
    while (sigaction(SIGUSR1, NULL, &action) != 0 || action.sa_handler != SIG_IGN)
        usleep(1000);
    must(by_action == 1); /* @told_action */
    return NULL;
}

static void *also_changes(void *unused)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_IGN;
    must(sigaction(SIGUSR2, &action, NULL) == 0);
    beside_changes = 2; /* @changes_later */
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    pthread_create(&threads[0], NULL, changes, NULL);
    pthread_create(&threads[1], NULL, asks, &limit);
    pthread_create(&threads[2], NULL, also_changes, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
