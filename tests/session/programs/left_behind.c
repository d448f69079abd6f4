// The first thread dies, and the program with it, whatever the others do: with `crossed`, two of them may wait for each other then;
// with `gate`, a third lock keeps them apart; with `idle`, one waits for work that nobody has.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static sem_t work;
static int gated;

static void both(pthread_mutex_t *first, pthread_mutex_t *second)
{
    if (gated)
        pthread_mutex_lock(&gate);
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    if (gated)
        pthread_mutex_unlock(&gate);
}

static void *forward(void *argument)
{
    both(&one, &other);
    return argument;
}

static void *backward(void *argument)
{
    both(&other, &one);
    return argument;
}

static void *idle(void *argument)
{
    sem_wait(&work);
    return argument;
}

int main(int count, char **arguments)
{
    pthread_t first, second;
    gated = count > 1 && !strcmp(arguments[1], "gate");
    if (count > 1 && !strcmp(arguments[1], "idle")) {
        sem_init(&work, 0, 0);
        pthread_create(&first, NULL, idle, NULL);
        abort();
    }
    pthread_create(&first, NULL, forward, NULL);
    pthread_create(&second, NULL, backward, NULL);
    abort();
}
