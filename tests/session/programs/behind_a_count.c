/* A race behind the third value of a counter, in a run that is too long to be searched: 120,000 accesses come before, of memory of its own. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count, data;
static unsigned char buffer[1 << 10];

static void *counter(void *unused)
{
    for (int i = 0; i < 60000; i++)
        buffer[i & 1023]++;
    for (int i = 0; i < 6; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
        if (i == 2)
            data = 1;
    }
    return unused;
}

static void *reader(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = count;
    pthread_mutex_unlock(&lock);
    return seen == 2 && data ? unused : 0;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, counter, 0);
    pthread_create(&threads[1], 0, reader, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
