/* One line of code, two accounts: each thread has the lock that the other one wants. */
#include <pthread.h>

struct account {
    pthread_mutex_t lock;
    int money;
};

static struct account accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 10}, {PTHREAD_MUTEX_INITIALIZER, 10}};

static void transfer(struct account *from, struct account *to)
{
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock); /* @transfer */
    from->money--;
    to->money++;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
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
