/* Two semaphores for locks, taken in both orders: anybody may post, so no single trace tells that nobody will. */
#include <pthread.h>
#include <semaphore.h>
static sem_t first, second;
static void *forwards(void *unused)
{
    sem_wait(&first);
    sem_wait(&second);
    sem_post(&second);
    sem_post(&first);
    return unused;
}
static void *backwards(void *unused)
{
    sem_wait(&second);
    sem_wait(&first);
    sem_post(&first);
    sem_post(&second);
    return unused;
}
int main(void)
{
    pthread_t threads[2];
    sem_init(&first, 0, 1);
    sem_init(&second, 0, 1);
    pthread_create(&threads[0], 0, forwards, 0);
    pthread_create(&threads[1], 0, backwards, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
