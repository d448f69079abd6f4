/* Memory that is mapped over, moved over, and given back to the kernel: it is written by that.
 *
 * A reader who sees what was there before orders what it does by the second lock, so nothing races but the last mapping and
 * what reads it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

enum { PAGE = 4096, READ_WRITE = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static char *over, *moved, *zero, *given_back, *last;
static int first, second, third;

static void *reader(void *unused)
{
    pthread_mutex_lock(&order);
    pthread_mutex_lock(&guard);
    int seen[] = {over[5], moved[5], given_back[5]};
    pthread_mutex_unlock(&guard);
    if (seen[0])
        first = 2; /* @first */
    if (seen[1])
        second = 2; /* @second */
    if (seen[2])
        third = 2; /* @third */
    pthread_mutex_unlock(&order);
    int end = last[5]; /* @read */
    return end < 0 ? &over : unused;
}

int main(void)
{
    char **all[] = {&over, &moved, &zero, &given_back, &last};
    for (int i = 0; i < 5; i++)
        *all[i] = mmap(0, PAGE, READ_WRITE, PRIVATE, -1, 0);
    over[5] = moved[5] = given_back[5] = last[5] = 1;
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    pthread_mutex_lock(&guard);
    mmap(over, PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0);
    mremap(zero, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved);
    madvise(given_back, PAGE, MADV_DONTNEED);
    pthread_mutex_unlock(&guard);
    pthread_mutex_lock(&order);
    pthread_mutex_unlock(&order);
    first = 1;  /* @own_first */
    second = 1; /* @own_second */
    third = 1;  /* @own_third */
    mmap(last, PAGE, READ_WRITE, PRIVATE | MAP_FIXED, -1, 0); /* @mapped */
    pthread_join(thread, 0);
    return 0;
}
