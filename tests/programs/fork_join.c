/* Ordered by thread creation and termination alone: no lock anywhere, and no race. */
#include <pthread.h>

static int cell;

static void *first(void *unused)
{
    cell = 2; /* @first */
    return unused;
}

static void *second(void *unused)
{
    cell = 4; /* @second */
    return unused;
}

int main(void)
{
    pthread_t t;
    cell = 1; /* @before */
    pthread_create(&t, NULL, first, NULL);
    pthread_join(t, NULL);
    cell = 3; /* @between */
    pthread_create(&t, NULL, second, NULL);
    pthread_join(t, NULL);
    cell = 5; /* @last */
    return 0;
}
