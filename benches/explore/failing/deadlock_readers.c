/* Two reader-writer locks: each thread reads under one and wants to write under the other.
 * Kind: deadlock. Shows as: deadlock. */
#include "../threads.h"

static pthread_rwlock_t a = PTHREAD_RWLOCK_INITIALIZER, b = PTHREAD_RWLOCK_INITIALIZER;
static int of_a, of_b;

THREAD(one)
{
    pthread_rwlock_rdlock(&a);
    pthread_rwlock_wrlock(&b);
    of_b = of_a + 1;
    pthread_rwlock_unlock(&b);
    pthread_rwlock_unlock(&a);
}

THREAD(other)
{
    pthread_rwlock_rdlock(&b);
    pthread_rwlock_wrlock(&a);
    of_a = of_b + 1;
    pthread_rwlock_unlock(&a);
    pthread_rwlock_unlock(&b);
}

int main(void)
{
    RUN(one, other);
    return 0;
}
