/* Two threads that say what they do on the standard error, and race. */
#include <pthread.h>
#include <stdio.h>

static int shared;

static void *work(void *number)
{
    fprintf(stderr, "thread %d\n", *(int *)number);
    shared = *(int *)number;
    return number;
}

int main(void)
{
    pthread_t threads[2];
    int numbers[2] = {1, 2};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    fprintf(stderr, "main\n");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
