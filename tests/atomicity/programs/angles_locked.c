// Both are read, and both written, under one lock.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int angle, mirror;
static atomic_int failed;

static void *supervise(void *unused)
{
    pthread_mutex_lock(&lock);
    int one = angle;
    int other = mirror;
    pthread_mutex_unlock(&lock);
    if (one != other)
        failed = 1;
    return unused;
}

static void *steer(void *unused)
{
    pthread_mutex_lock(&lock);
    angle = 30;
    mirror = 30;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, supervise, NULL);
    pthread_create(&second, NULL, steer, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
