/* A race behind the third value of a counter that changes thousands of times. */
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n, data;
static unsigned char buffer[1 << 10];
static void *counter(void *unused)
{
    data = 1;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        n++;
        pthread_mutex_unlock(&lock);
        for (int j = 0; j < 30; j++)
            buffer[(i + j) & 1023]++;
        if (i == 2)
            data = 2;
    }
    return unused;
}
static void *reader(void *unused)
{
    pthread_mutex_lock(&lock);
    int seen = n;
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
