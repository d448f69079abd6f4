// A buffer is summed up that another thread fills.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *buffer;

static void *fill(void *unused)
{
    int *filled = malloc(16 * sizeof *filled);
    for (int i = 0; i < 16; i++)
        filled[i] = i;
    pthread_mutex_lock(&lock);
    buffer = filled; /* @first */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *sum(void *unused)
{
    int all = 0;
    pthread_mutex_lock(&lock);
    int *here = buffer; /* @early */
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
