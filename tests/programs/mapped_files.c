// Files that are mapped to memory. What threads read there orders nothing, as if they had read the file; but what one thread writes
// before it writes to a file, another may read after it has found that in the file, where it maps the file anew each time, and where it
// watches one mapping. Nobody has written what is there from the start: who gets a mapping's address without any order reads it all
// the same.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int text, news, watched;
static const char *early, *watch;
static const char *_Atomic handed;
static int found, sum, by_news, by_watched;

static int temporary(char *path) {
    strcpy(path, "/tmp/witness-mapped.XXXXXX");
    return mkstemp(path);
}

static int counts(const char *in) {
    int count = 0;
    for (int at = 0; at < 16; at++) count += in[at] == 'x';
    return count;
}

static int searches(void) {
    const char *mine = mmap(NULL, 16, PROT_READ, MAP_PRIVATE, text, 0);
    int count = counts(mine);
    munmap((void *)mine, 16);
    return count;
}

static int is_new(void) {
    const char *mine = mmap(NULL, 1, PROT_READ, MAP_SHARED, news, 0);
    int is = mine[0] == '1';
    munmap((void *)mine, 1);
    return is;
}

static void *reader(void *unused) {
    if (counts(early) == 1) sum = 1; /* @early_reader */
    if (searches() == 1) found = 1; /* @found_reader */
    const char *given;
    while (!(given = atomic_load_explicit(&handed, memory_order_relaxed))) sched_yield();
    counts(given);
    while (!is_new()) sched_yield();
    int seen = by_news; /* @read_news */
    while (watch[0] != '1') sched_yield();
    seen += by_watched; /* @read_watched */
    (void)seen;
    return unused;
}

int main(void) {
    pthread_t t;
    char path[64];
    text = temporary(path);
    write(text, "an example word!", 16);
    unlink(path);
    int news_writer = temporary(path);
    write(news_writer, "0", 1);
    news = open(path, O_RDONLY);
    unlink(path);
    int watched_writer = temporary(path);
    write(watched_writer, "0", 1);
    watched = open(path, O_RDONLY);
    unlink(path);
    early = mmap(NULL, 16, PROT_READ, MAP_PRIVATE, text, 0);
    watch = mmap(NULL, 1, PROT_READ, MAP_SHARED, watched, 0);
    pthread_create(&t, NULL, reader, NULL);
    if (counts(early) == 1) sum = 1; /* @early_main */
    if (searches() == 1) found = 1; /* @found_main */
    atomic_store_explicit(&handed, mmap(NULL, 16, PROT_READ, MAP_PRIVATE, text, 0), memory_order_relaxed);
    by_news = 1; /* @write_news */
    pwrite(news_writer, "1", 1, 0);
    by_watched = 1; /* @write_watched */
    pwrite(watched_writer, "1", 1, 0);
    pthread_join(t, NULL);
    return 0;
}
