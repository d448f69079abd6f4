// The harmless twin of mapping.c: the reader is joined first.
#include <pthread.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *page;

static void *look(void *argument)
{
    pthread_mutex_lock(&lock);
    int value = *page;
    pthread_mutex_unlock(&lock);
    return value ? argument : NULL;
}

static void *unmap(void *argument)
{
    pthread_mutex_lock(&lock);
    munmap(page, 4096);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t reader, closer;
    pthread_create(&reader, NULL, look, NULL);
    pthread_join(reader, NULL);
    pthread_create(&closer, NULL, unmap, NULL);
    pthread_join(closer, NULL);
    return 0;
}
