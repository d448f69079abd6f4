/* What the system keeps of a file hands over as a variable does: permissions, times, extended attributes, and how long
   the file is and how many names it has, however it is asked. Two questions alone order nothing, and neither do permissions and contents. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static char folder[] = "/tmp/witness-attributes-XXXXXX";
static char path[64], timed[64], other_folder[64], other_name[80];
static int file, untold, extended;
static int by_mode, by_times, by_attribute, by_length, by_room, by_name, beside_questions, beside_contents;

static void must(int holds)
{
    if (!holds)
        abort();
}

static void *sets(void *unused)
{
    const struct timespec times[2] = {{1000, 0}, {1000, 0}};
    struct stat about;
    beside_questions = 1; /* @asks_first */
    must(stat(folder, &about) == 0);
    by_mode = 1; /* @sets_mode */
    must(chmod(path, 0640) == 0);
    by_times = 1; /* @sets_times */
    must(utimensat(AT_FDCWD, timed, times, 0) == 0);
    by_attribute = 1; /* @sets_attribute */
    if (extended)
        must(setxattr(path, "user.witness", "x", 1, 0) == 0);
    else
        must(fchmod(file, 0644) == 0);
    by_length = 1; /* @writes */
    must(pwrite(file, "12345", 5, 0) == 5);
    must(pwrite(untold, "12345", 5, 0) == 5);
    by_room = 1; /* @makes_room */
    must(posix_fallocate(file, 0, 4096) == 0);
    by_name = 1; /* @links */
    must(link(path, other_name) == 0);
    beside_contents = 1; /* @written */
    must(fchmod(untold, 0645) == 0);
    return unused;
}

static void *asks(void *unused)
{
    struct stat about;
    struct statx more;
    char first;
    must(stat(folder, &about) == 0);
    beside_questions = 2; /* @asks_later */
    while (stat(path, &about) != 0 || (about.st_mode & 040) == 0)
        usleep(1000);
    must(by_mode == 1); /* @told_mode */
    while (lstat(timed, &about) != 0 || about.st_mtim.tv_sec != 1000)
        usleep(1000);
    must(by_times == 1); /* @told_times */
    if (extended)
        while (fgetxattr(file, "user.witness", &first, 1) != 1)
            usleep(1000);
    else
        while (fstat(file, &about) != 0 || (about.st_mode & 04) == 0)
            usleep(1000);
    must(by_attribute == 1); /* @told_attribute */
    while (statx(AT_FDCWD, path, 0, STATX_SIZE, &more) != 0 || more.stx_size < 5)
        usleep(1000);
    must(by_length == 1); /* @told_length */
    while (fstat(file, &about) != 0 || about.st_size != 4096)
        usleep(1000);
    must(by_room == 1); /* @told_room */
    while (stat(path, &about) != 0 || about.st_nlink != 2)
        usleep(1000);
    must(by_name == 1); /* @told_name */
    return unused;
}

static void *reads(void *unused)
{
    char text[8];
    while (pread(untold, text, sizeof text, 0) != 5)
        usleep(1000);
    beside_contents = 2; /* @reads */
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    must(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(other_folder, sizeof other_folder, "%s/other", folder);
    snprintf(other_name, sizeof other_name, "%s/name", other_folder);
    must(mkdir(other_folder, 0700) == 0);
    snprintf(timed, sizeof timed, "%s/timed", folder);
    file = open(path, O_RDWR | O_CREAT, 0600);
    untold = open(folder, O_RDWR | O_TMPFILE, 0600);
    must(file >= 0 && untold >= 0 && chmod(path, 0600) == 0 && close(open(timed, O_WRONLY | O_CREAT, 0600)) == 0);
    extended = setxattr(path, "user.other", "y", 1, 0) == 0;
    pthread_create(&threads[0], NULL, sets, NULL);
    pthread_create(&threads[1], NULL, asks, NULL);
    pthread_create(&threads[2], NULL, reads, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    unlink(path);
    unlink(timed);
    unlink(other_name);
    rmdir(other_folder);
    rmdir(folder);
    return 0;
}
