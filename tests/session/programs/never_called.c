/* A function that no schedule calls writes what another thread reads. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared, n;

static void never_called(void)
{
    shared = 1;
}

static void count(void)
{
    pthread_mutex_lock(&lock);
    n++;
    pthread_mutex_unlock(&lock);
}

static void *reader(void *unused)
{
    count();
    return shared ? unused : 0;
}

int main(int arguments, char **argument)
{
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    count();
    if (arguments > 1 && argument[1])
        never_called();
    pthread_join(thread, 0);
    return 0;
}
