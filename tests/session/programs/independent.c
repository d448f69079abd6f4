/* Threads that store two numbers each, and one that looks between: few branches, many states. */
#include <pthread.h>
#include <stdatomic.h>

enum { SETTERS = 40 };

static atomic_int a[SETTERS], b[SETTERS], seen;

static void *set(void *number)
{
    long i = (long)number;
    for (int n = 1; n < 4; n++) {
        a[i] = n;
        b[i] = -n;
    }
    return 0;
}

static void *look(void *unused)
{
    for (int i = 0; i < SETTERS; i++)
        seen += a[i] + b[i];
    return unused;
}

int main(void)
{
    pthread_t threads[SETTERS + 1];
    for (long i = 0; i < SETTERS; i++)
        pthread_create(&threads[i], 0, set, (void *)i);
    pthread_create(&threads[SETTERS], 0, look, 0);
    for (int i = 0; i <= SETTERS; i++)
        pthread_join(threads[i], 0);
    return 0;
}
