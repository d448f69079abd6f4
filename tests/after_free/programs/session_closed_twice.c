// Both threads close the session under the lock; only one of them says that it is gone.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *session;

static void *forgets(void *argument)
{
    pthread_mutex_lock(&lock);
    if (session)
        free(session); /* @free */
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *clears(void *argument)
{
    pthread_mutex_lock(&lock);
    if (session)
        free(session); /* @again */
    session = NULL;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    session = malloc(100);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, forgets, NULL);
    pthread_create(&threads[1], NULL, clears, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
