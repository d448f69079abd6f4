/* A reader-writer lock that readers do not get while a writer waits, and a mutex that nobody holds when it is given back:
 * both do more than any run shows. */
#define _GNU_SOURCE
#include <pthread.h>

static pthread_rwlock_t for_writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *reads(void *unused)
{
    pthread_rwlock_rdlock(&for_writers);
    pthread_rwlock_unlock(&for_writers);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, reads, 0);
    pthread_join(thread, 0);
    return 0;
}
