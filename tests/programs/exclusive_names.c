/* Locks that are names of files: who creates the name, a directory or a link, has the lock, and gives it back by removing
   it. What follows the last section is not behind the other thread's. The paths lead from the folder of the process. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/witness-exclusive-XXXXXX";
static int by_file, by_directory, by_link, beside;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void lock_file(void)
{
    int file;
    while ((file = open("file", O_CREAT | O_EXCL | O_RDWR, 0600)) < 0)
        sched_yield();
    must(close(file) == 0);
}

static void sections(void)
{
    for (int i = 0; i < 2; i++) {
        lock_file();
        by_file++; /* @in_file */
        must(unlink("file") == 0);
        while (mkdir("directory", 0700) != 0)
            sched_yield();
        by_directory++; /* @in_directory */
        must(rmdir("directory") == 0);
        while (symlink("nothing", "link") != 0)
            sched_yield();
        by_link++; /* @in_link */
        must(unlink("link") == 0);
    }
}

static void *first(void *unused)
{
    sections();
    beside = 1; /* @first */
    return unused;
}

static void *second(void *unused)
{
    sections();
    beside = 2; /* @second */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    must(mkdtemp(folder) != NULL && chdir(folder) == 0);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    must(rmdir(folder) == 0);
    return by_file + by_directory + by_link != 12;
}
