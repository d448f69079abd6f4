// What one thread writes before it gives a file its name, takes the name away, or wins by creating it, another may access after it has
// found that: by rename, unlink, exclusive creation, links, directories that are locks, and the list of a directory. Names of other
// files order nothing.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int folder;
static int by_rename, by_unlink, by_lock, by_folder, by_list, by_stream, by_moved, winners, late;

static void touch(const char *name) {
    close(openat(folder, name, O_CREAT | O_WRONLY, 0600));
}

static int lists(const char *name) {
    DIR *open = fdopendir(openat(folder, ".", O_RDONLY | O_DIRECTORY));
    int found = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) found |= strcmp(entry->d_name, name) == 0;
    closedir(open);
    return found;
}

static void wins(void) {
    if (openat(folder, "winner", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) winners++; /* @wins */
}

static void add_with_file(void) {
    while (openat(folder, "lock", O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) sched_yield();
    by_lock++; /* @with_file */
    unlinkat(folder, "lock", 0);
}

static void add_with_folder(void) {
    while (mkdirat(folder, "locked", 0700) < 0) sched_yield();
    by_folder++; /* @with_folder */
    unlinkat(folder, "locked", AT_REMOVEDIR);
}

static void *reader(void *unused) {
    touch("another");
    late++; /* @late_reader */
    while (access("renamed", F_OK) < 0) sched_yield();
    int sum = by_rename; /* @read_renamed */
    struct stat about;
    while (stat("token", &about) == 0) sched_yield();
    sum += by_unlink; /* @read_unlinked */
    while (!lists("listed")) sched_yield();
    sum += by_list; /* @read_listed */
    FILE *stream;
    while ((stream = fopen("streamed", "r")) == NULL) sched_yield();
    fclose(stream);
    sum += by_stream; /* @read_streamed */
    while (access("moved/inside", F_OK) < 0) sched_yield();
    sum += by_moved; /* @read_moved */
    wins();
    add_with_file();
    add_with_folder();
    return sum == 5 ? unused : &late;
}

int main(void) {
    char path[] = "/tmp/witness-names.XXXXXX";
    if (mkdtemp(path) == NULL || chdir(path) != 0) return 1;
    folder = open(".", O_RDONLY | O_DIRECTORY);
    touch("token");
    touch("unnamed");
    mkdir("made", 0700);
    touch("made/inside");
    pthread_t t;
    pthread_create(&t, NULL, reader, NULL);
    touch("a third");
    late++; /* @late_main */
    by_rename = 1; /* @write_renamed */
    rename("unnamed", "renamed");
    by_unlink = 1; /* @write_unlinked */
    unlink("token");
    by_list = 1; /* @write_listed */
    touch("listed");
    by_stream = 1; /* @write_streamed */
    fclose(fopen("streamed", "w"));
    by_moved = 1; /* @write_moved */
    rename("made", "moved");
    wins();
    add_with_file();
    add_with_folder();
    pthread_join(t, NULL);
    const char *left[] = {"renamed", "listed", "streamed", "moved/inside", "winner", "another", "a third"};
    for (unsigned i = 0; i < sizeof left / sizeof *left; i++) unlink(left[i]);
    rmdir("moved");
    rmdir(path);
    return winners != 1 || by_lock != 2 || by_folder != 2;
}
