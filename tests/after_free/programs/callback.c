// A timer fires under the lock; its owner frees what the callback works on under the same lock, and leaves the timer armed.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *context;

static void *fire(void *argument)
{
    int *registered = context;
    (void)argument;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        *registered += 1; /* @use */
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *cancel(void *argument)
{
    pthread_mutex_lock(&lock);
    free(argument); /* @free */
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    context = calloc(1, sizeof *context);
    pthread_t timer, owner;
    pthread_create(&timer, NULL, fire, NULL);
    pthread_create(&owner, NULL, cancel, context);
    pthread_join(timer, NULL);
    pthread_join(owner, NULL);
    return 0;
}
