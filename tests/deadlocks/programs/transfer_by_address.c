/* The account with the lower address first. */
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    int money;
};

static struct account accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 10}, {PTHREAD_MUTEX_INITIALIZER, 10}};

static void transfer(struct account *from, struct account *to)
{
    struct account *first = from < to ? from : to, *second = from < to ? to : from;
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->money--;
    to->money++;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *there(void *arg)
{
    transfer(&accounts[0], &accounts[1]);
    return arg;
}

static void *back(void *arg)
{
    transfer(&accounts[1], &accounts[0]);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, there, NULL);
    pthread_create(&threads[1], NULL, back, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
