/* A directory that is made gets the number of one that was removed, perhaps, and is another one all the same: what was
   done to that one orders nothing. Neither does it that both stood in one directory. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/witness-again-XXXXXX";
static char before[64], later[64];
static int beside;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *first(void *unused)
{
    must(mkdir(before, 0755) == 0);
    beside = 1; /* @before */
    must(chmod(before, 0700) == 0);
    must(rmdir(before) == 0);
    return unused;
}

static void *second(void *unused)
{
    struct stat about;
    usleep(20000);
    must(mkdir(later, 0755) == 0);
    must(stat(later, &about) == 0);
    beside = 2; /* @later */
    must(rmdir(later) == 0);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    must(mkdtemp(folder) != NULL);
    snprintf(before, sizeof before, "%s/before", folder);
    snprintf(later, sizeof later, "%s/later", folder);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    must(rmdir(folder) == 0);
    return 0;
}
