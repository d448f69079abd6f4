// What is read, counted up, and written back under the lock each time loses what was written in between.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static int get(void)
{
    pthread_mutex_lock(&lock);
    int value = count; /* @first */
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value)
{
    pthread_mutex_lock(&lock);
    count = value; /* @second @between */
    pthread_mutex_unlock(&lock);
}

static void *increment(void *unused)
{
    set(get() + 1);
    return unused;
}

static void *reset(void *unused)
{
    set(100);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, increment, NULL);
    pthread_create(&second, NULL, reset, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
