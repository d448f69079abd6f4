/* Two threads that begin after main has done much: a run that is ended before has nothing of theirs. */
#include <pthread.h>

static volatile int work;

static void *later(void *unused)
{
    work = 1;
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, later, NULL);
    for (int i = 0; i < 100000; i++)
        work = i;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
