/* A thread's name hands over as a variable does, whoever gives it. That two threads get names orders nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static int by_own_name, by_given_name, beside_names;
static pthread_t first, named, asking;
static pthread_mutex_t created = PTHREAD_MUTEX_INITIALIZER;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void await_all(void)
{
    pthread_mutex_lock(&created);
    pthread_mutex_unlock(&created);
}

static void await_name(const char *wanted)
{
    char name[16] = "";
    while (strcmp(name, wanted) != 0) {
        usleep(1000);
        must(prctl(PR_GET_NAME, name) == 0);
    }
}

static void *is_named(void *unused)
{
    await_all();
    by_own_name = 1; /* @names_itself */
    must(prctl(PR_SET_NAME, "itself") == 0);
    by_given_name = 1; /* @names_other */
    must(pthread_setname_np(asking, "other") == 0);
    beside_names = 1; /* @names_first */
    must(pthread_setname_np(first, "first") == 0);
    /* A thread that has ended has no name. */
    await_name("seen");
    return unused;
}

static void *asks(void *unused)
{
    char name[16] = "";
    await_all();
    while (strcmp(name, "itself") != 0) {
        usleep(1000);
        must(pthread_getname_np(named, name, sizeof name) == 0);
    }
    must(by_own_name == 1); /* @sees_itself */
    await_name("other");
    must(by_given_name == 1); /* @sees_other */
    must(pthread_setname_np(named, "seen") == 0);
    return unused;
}

static void *also_named(void *unused)
{
    must(pthread_setname_np(pthread_self(), "third") == 0);
    beside_names = 2; /* @names_later */
    return unused;
}

int main(void)
{
    pthread_t third;
    first = pthread_self();
    pthread_mutex_lock(&created);
    pthread_create(&third, NULL, also_named, NULL);
    pthread_create(&asking, NULL, asks, NULL);
    pthread_create(&named, NULL, is_named, NULL);
    pthread_mutex_unlock(&created);
    pthread_join(third, NULL);
    pthread_join(named, NULL);
    pthread_join(asking, NULL);
    return 0;
}
