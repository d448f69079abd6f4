// A worker offers a place on its own stack, and ends without taking the offer back.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int nowhere;
static int *place = &nowhere;

static void *offer(void *argument)
{
    int here = 0;
    pthread_mutex_lock(&lock);
    place = &here;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *take_back(void *argument)
{
    pthread_mutex_lock(&lock);
    place = &nowhere;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *look(void *argument)
{
    pthread_mutex_lock(&lock);
    int seen = *place; /* @use */
    pthread_mutex_unlock(&lock);
    return seen ? argument : NULL;
}

int main(void)
{
    pthread_t offers, takes, looks;
    pthread_create(&offers, NULL, offer, NULL);
    pthread_create(&takes, NULL, take_back, NULL);
    pthread_create(&looks, NULL, look, NULL);
    pthread_join(offers, NULL);
    pthread_join(takes, NULL);
    pthread_join(looks, NULL);
    return 0;
}
