// The only instance is made by the thread that is thought to be the first to need it.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *instance;

static void make(void)
{
    int *made = malloc(sizeof *made);
    *made = 5;
    pthread_mutex_lock(&lock);
    instance = made; /* @first */
    pthread_mutex_unlock(&lock);
}

static void *first(void *unused)
{
    make();
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&lock);
    int value = *instance; /* @early */
    pthread_mutex_unlock(&lock);
    return value > 1000 ? unused : NULL;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&other, NULL, second, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
