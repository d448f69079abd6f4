// The harmless twin of buffer.c: who sums up waits for the buffer.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled_up = PTHREAD_COND_INITIALIZER;
static int ready;
static int *buffer;

static void *fill(void *unused)
{
    int *filled = malloc(16 * sizeof *filled);
    for (int i = 0; i < 16; i++)
        filled[i] = i;
    pthread_mutex_lock(&lock);
    buffer = filled;
    ready = 1;
    pthread_cond_signal(&filled_up);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *sum(void *unused)
{
    int all = 0;
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(&filled_up, &lock);
    int *here = buffer;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 16; i++)
        all += here[i];
    return all > 1000 ? unused : NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, fill, NULL);
    pthread_create(&other, NULL, sum, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
