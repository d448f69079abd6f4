// A log is unmapped, and later mapped anew: a writer in between finds the address of what is no longer there.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *entries;

static int *map(void)
{
    return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *rotate(void *argument)
{
    pthread_mutex_lock(&lock);
    munmap(entries, SIZE); /* @free */
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    entries = map();
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *append(void *argument)
{
    pthread_mutex_lock(&lock);
    *entries += 1; /* @use */
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    entries = map();
    pthread_t rotator, writer;
    pthread_create(&rotator, NULL, rotate, NULL);
    pthread_create(&writer, NULL, append, NULL);
    pthread_join(rotator, NULL);
    pthread_join(writer, NULL);
    return 0;
}
