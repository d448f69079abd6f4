// Not a fault: one thread destroys a mutex and makes it anew, and only then another one uses it.
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t made;

static void *make_anew(void *argument)
{
    pthread_mutex_destroy(&lock);
    pthread_mutex_init(&lock, NULL);
    sem_post(&made);
    return argument;
}

static void *use(void *argument)
{
    sem_wait(&made);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    sem_init(&made, 0, 0);
    pthread_t maker, user;
    pthread_create(&maker, NULL, make_anew, NULL);
    pthread_create(&user, NULL, use, NULL);
    pthread_join(maker, NULL);
    pthread_join(user, NULL);
    return 0;
}
