// A dispatcher calls the handler that another thread registers.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*handler)(int);

static int twice(int value)
{
    return 2 * value;
}

static void *enlist(void *unused)
{
    pthread_mutex_lock(&lock);
    handler = twice; /* @first */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *dispatch(void *unused)
{
    pthread_mutex_lock(&lock);
    int (*now)(int) = handler; /* @early */
    pthread_mutex_unlock(&lock);
    return now(21) > 1000 ? unused : NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, enlist, NULL);
    pthread_create(&other, NULL, dispatch, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
