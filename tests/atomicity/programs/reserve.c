// What is there is looked at and taken in the thread's own function, which is no region unless somebody says so.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int stock = 5;

static void *reserve(void *unused)
{
    int there = stock; /* @first */
    if (there > 0)
        stock = there - 1; /* @second */
    return unused;
}

static void *deliver(void *unused)
{
    stock += 10; /* @between */
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, reserve, NULL);
    pthread_create(&second, NULL, deliver, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
