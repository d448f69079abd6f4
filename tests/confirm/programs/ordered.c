/* A write, and a read that comes only after another thread has counted: no schedule brings them together. */
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n, data;
static int count(void)
{
    pthread_mutex_lock(&lock);
    int now = ++n;
    pthread_mutex_unlock(&lock);
    return now;
}
static void *writer(void *unused)
{
    data = 1;
    count();
    return unused;
}
static void *reader(void *unused)
{
    if (count() == 2)
        return data ? unused : 0;
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
