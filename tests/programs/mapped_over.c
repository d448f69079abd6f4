/* A mapping whose end is mapped over, as programs do that read beyond the end of a file.
 *
 * Both threads access the part that was mapped later; the mapping below is not freed by that, and the trace is an execution.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

static char *block;

static void *writer(void *unused)
{
    block[8200] = 1; /* @write */
    return unused;
}

int main(void)
{
    pthread_t t;
    block = mmap(NULL, 8256, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mmap(block + 8192, 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    pthread_create(&t, NULL, writer, NULL);
    int seen = block[8200]; /* @read */
    (void)seen;
    pthread_join(t, NULL);
    munmap(block, 8256);
    return 0;
}
