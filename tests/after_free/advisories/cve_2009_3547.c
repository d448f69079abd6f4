// CVE-2009-3547, fs/pipe.c of Linux: opening /proc/…/fd/N of a pipe takes the inode's lock and counts a further reader in
// inode->i_pipe, which the last close, under the same lock, may have freed and set to NULL by then. The fix looks whether
// it is still there.
#include <pthread.h>
#include <stdlib.h>

struct pipe {
    int readers;
};

static struct {
    pthread_mutex_t lock;
    struct pipe *pipe;
} inode = {PTHREAD_MUTEX_INITIALIZER, NULL};

static void *opens(void *argument)
{
    pthread_mutex_lock(&inode.lock);
#ifdef FIXED
    if (inode.pipe)
#endif
        inode.pipe->readers++; /* @use */
    pthread_mutex_unlock(&inode.lock);
    return argument;
}

static void *releases(void *argument)
{
    pthread_mutex_lock(&inode.lock);
    if (--inode.pipe->readers == 0) {
        free(inode.pipe); /* @free */
        inode.pipe = NULL;
    }
    pthread_mutex_unlock(&inode.lock);
    return argument;
}

int main(void)
{
    inode.pipe = calloc(1, sizeof *inode.pipe);
    inode.pipe->readers = 1;
    pthread_t opener, last;
    pthread_create(&opener, NULL, opens, NULL);
    pthread_create(&last, NULL, releases, NULL);
    pthread_join(opener, NULL);
    pthread_join(last, NULL);
    free(inode.pipe);
    return 0;
}
