// Who reserves holds the lock while it looks and takes, and so does who delivers.
#include "../../../include/witness.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stock = 5;
static atomic_int reserved;

static void *reserve(void *unused)
{
    WITNESS_ATOMIC_BEGIN("reservation");
    pthread_mutex_lock(&lock);
    int there = stock;
    if (there > 0) {
        stock = there - 1;
        reserved = 1;
    }
    pthread_mutex_unlock(&lock);
    WITNESS_ATOMIC_END();
    return unused;
}

static void *deliver(void *unused)
{
    pthread_mutex_lock(&lock);
    stock += 10;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, reserve, NULL);
    pthread_create(&second, NULL, deliver, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
