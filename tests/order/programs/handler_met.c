// The harmless twin of handler.c: both meet at a barrier when the handler is registered.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*handler)(int);
static pthread_barrier_t registered;

static int twice(int value)
{
    return 2 * value;
}

static void *enlist(void *unused)
{
    pthread_mutex_lock(&lock);
    handler = twice;
    pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&registered);
    return unused;
}

static void *dispatch(void *unused)
{
    pthread_barrier_wait(&registered);
    pthread_mutex_lock(&lock);
    int (*now)(int) = handler;
    pthread_mutex_unlock(&lock);
    return now(21) > 1000 ? unused : NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_barrier_init(&registered, NULL, 2);
    pthread_create(&one, NULL, enlist, NULL);
    pthread_create(&other, NULL, dispatch, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
