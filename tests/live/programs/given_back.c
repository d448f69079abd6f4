/* Memory that goes away beside who uses it: a mapping that is given back, one that moves, and the stack of a thread that
 * ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *mapping, *moving;
static int *local;

static void *uses_mapping(void *unused)
{
    pthread_mutex_lock(&lock);
    char *found = mapping;
    pthread_mutex_unlock(&lock);
    if (found)
        found[100] = 1; /* @mapping */
    return unused;
}

static void *uses_moving(void *unused)
{
    pthread_mutex_lock(&lock);
    char *found = moving;
    pthread_mutex_unlock(&lock);
    if (found)
        found[100] = 1; /* @moving */
    return unused;
}

static void *uses_stack(void *unused)
{
    pthread_mutex_lock(&lock);
    int *found = local;
    pthread_mutex_unlock(&lock);
    if (found)
        *found = 2; /* @stack */
    return unused;
}

static void *lends_stack(void *unused)
{
    int own = 0;
    pthread_mutex_lock(&lock);
    local = &own;
    pthread_mutex_unlock(&lock);
    usleep(30000);
    pthread_mutex_lock(&lock);
    local = NULL;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moving = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&threads[0], NULL, uses_mapping, NULL);
    pthread_create(&threads[3], NULL, uses_moving, NULL);
    pthread_create(&threads[1], NULL, lends_stack, NULL);
    usleep(10000);
    pthread_create(&threads[2], NULL, uses_stack, NULL);
    usleep(60000);
    munmap(mapping, 4096); /* @munmap */
    char *moved = mremap(moving, 4096, 1 << 20, MREMAP_MAYMOVE); /* @mremap */
    if (moved == moving || moved[100] != 1) /* @kept */
        puts("it did not move");
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
