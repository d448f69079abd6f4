// The harmless twin of callback.c: the timer is disarmed before, and looks each time.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *context;

static void *fire(void *argument)
{
    (void)argument;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        if (context)
            *context += 1;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *cancel(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&lock);
    int *last = context;
    context = NULL;
    pthread_mutex_unlock(&lock);
    free(last);
    return NULL;
}

int main(void)
{
    context = calloc(1, sizeof *context);
    pthread_t timer, owner;
    pthread_create(&timer, NULL, fire, NULL);
    pthread_create(&owner, NULL, cancel, NULL);
    pthread_join(timer, NULL);
    pthread_join(owner, NULL);
    return 0;
}
