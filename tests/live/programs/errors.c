/* Goes another way if a call that has no result of interest leaves an error. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int file, shared;

static void *one(void *unused)
{
    errno = ENOENT;
    fsync(file);
    if (errno != ENOENT)
        _exit(3);
    shared = 1;
    return unused;
}

static void *another(void *unused)
{
    shared = 2;
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    file = open("target", O_RDWR);
    if (file < 0)
        return 2;
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, another, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
