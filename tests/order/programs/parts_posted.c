// The harmless twin of parts.c: who divides waits until the parts are counted.
#include <pthread.h>
#include <semaphore.h>

static pthread_spinlock_t lock;
static int parts;
static sem_t counted;

static void *divide(void *unused)
{
    sem_wait(&counted);
    pthread_spin_lock(&lock);
    int share = 1000 / parts;
    pthread_spin_unlock(&lock);
    return share > 1000 ? unused : NULL;
}

static void *measure(void *unused)
{
    pthread_spin_lock(&lock);
    parts = 8;
    pthread_spin_unlock(&lock);
    sem_post(&counted);
    return unused;
}

int main(void)
{
    pthread_t one, other;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    sem_init(&counted, 0, 0);
    pthread_create(&one, NULL, measure, NULL);
    pthread_create(&other, NULL, divide, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
