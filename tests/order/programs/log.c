// One thread opens a log, another one writes to it: what they share is a lock that says nothing of their order.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int opened, written;

static void *open_log(void *unused)
{
    pthread_mutex_lock(&lock);
    opened++; /* @first */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *write_log(void *unused)
{
    pthread_mutex_lock(&lock);
    written++; /* @early */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, open_log, NULL);
    pthread_create(&other, NULL, write_log, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
