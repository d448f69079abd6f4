// What is in stock and what is reserved are to agree, so the program marks as atomic where it looks at one of them twice.
#include "../../../include/witness.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int stock = 5;
static atomic_int reserved;

static void *reserve(void *unused)
{
    WITNESS_ATOMIC_BEGIN("reservation");
    int there = stock; /* @first */
    if (there > 0) {
        stock = there - 1; /* @second */
        reserved = 1;
    }
    WITNESS_ATOMIC_END();
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
