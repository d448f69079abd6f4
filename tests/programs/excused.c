/* Races that the program itself says are not to be reported: on memory that it calls benign, in what a thread wants ignored,
 * and in a function that is suppressed by what the program has built in. Beside each is one that nobody excused. All values are 0, so
 * that no order of these accesses is excluded by what is read.
 */
#include <pthread.h>
#include <stdlib.h>

void AnnotateBenignRaceSized(const char *file, int line, const volatile void *memory, long size, const char *text);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

const char *__tsan_default_suppressions(void)
{
    return "# a comment\nrace:suppressed\nnonsense\n";
}

static long counter, other, ignored, written, listed;

static void store(long *where)
{
    *where = 0; /* @store */
}

static void suppressed(void)
{
    listed = 1; /* @suppressed */
}

static void *worker(void *unused)
{
    store(&counter);
    store(&other);

    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    written = 0;          /* @write_reported */
    if (ignored)          /* @read_ignored */
        abort();
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);

    __tsan_ignore_thread_begin();
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    __tsan_ignore_thread_end();
    written = 0;          /* @write_ignored */
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    written = 0;          /* @write_reported_too */
    suppressed();
    return unused;
}

int main(void)
{
    pthread_t t;
    AnnotateBenignRaceSized(__FILE__, __LINE__, &counter, sizeof counter, "statistics");
    pthread_create(&t, NULL, worker, NULL);
    store(&counter);
    ignored = 0;          /* @write_read */
    written = 0;          /* @write */
    other = 0;            /* @other */
    listed = 2;           /* @listed */
    pthread_join(t, NULL);
    return 0;
}
