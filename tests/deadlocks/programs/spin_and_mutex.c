/* A spin lock and a mutex, taken in both orders. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static int count;

static void *first(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_spin_lock(&spin); /* @first */
    count++;
    pthread_spin_unlock(&spin);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *second(void *arg)
{
    pthread_spin_lock(&spin);
    pthread_mutex_lock(&lock); /* @second */
    count++;
    pthread_mutex_unlock(&lock);
    pthread_spin_unlock(&spin);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
