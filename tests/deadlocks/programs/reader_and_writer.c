/* A reader waits for a mutex whose holder waits to write. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t data = PTHREAD_RWLOCK_INITIALIZER;

static void *reader(void *arg)
{
    pthread_rwlock_rdlock(&data);
    pthread_mutex_lock(&lock); /* @first */
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&data);
    return arg;
}

static void *writer(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_rwlock_wrlock(&data); /* @second */
    pthread_rwlock_unlock(&data);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
