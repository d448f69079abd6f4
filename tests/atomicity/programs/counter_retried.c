// A compare-and-swap that finds another value than was read is tried again with that.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int count;

static void increment_by(int more)
{
    int value = atomic_load(&count);
    while (!atomic_compare_exchange_strong(&count, &value, value + more))
        ;
}

static void *increment(void *unused)
{
    increment_by(1);
    return unused;
}

static void *reset(void *unused)
{
    atomic_store(&count, 100);
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
