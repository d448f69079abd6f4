// The size is asked first, and each element then.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int items[4] = {1, 2, 3, 4};
static int size = 4;

static int count(void)
{
    pthread_mutex_lock(&lock);
    int now = size; /* @first */
    pthread_mutex_unlock(&lock);
    return now;
}

static int at(int place)
{
    pthread_mutex_lock(&lock);
    int item = place < size ? items[place] : -1; /* @second */
    pthread_mutex_unlock(&lock);
    return item;
}

static int sum(void)
{
    int all = 0;
    int end = count();
    for (int place = 0; place < end; place++)
        all += at(place);
    return all;
}

static void *add_up(void *unused)
{
    int all = sum();
    return all > 0 ? unused : NULL;
}

static void *clear(void *unused)
{
    pthread_mutex_lock(&lock);
    size = 0; /* @between */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, add_up, NULL);
    pthread_create(&second, NULL, clear, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
