// The harmless twin of log.c: who writes waits until the log is open.
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int opened, written;
static sem_t is_open;

static void *open_log(void *unused)
{
    pthread_mutex_lock(&lock);
    opened++; /* @first */
    pthread_mutex_unlock(&lock);
    sem_post(&is_open);
    return unused;
}

static void *write_log(void *unused)
{
    sem_wait(&is_open);
    pthread_mutex_lock(&lock);
    written++; /* @early */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t one, other;
    sem_init(&is_open, 0, 0);
    pthread_create(&one, NULL, open_log, NULL);
    pthread_create(&other, NULL, write_log, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
