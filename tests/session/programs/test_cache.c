/* The test of a cache that two threads fill. Nothing is accessed without the lock, so there is no data race; but between looking for the value
 * and storing it, another thread may have stored it. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int computed, sum;

static void fill(void)
{
    pthread_mutex_lock(&lock);
    int known = computed;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    if (!known) {
        sum += 42;
        computed = 1;
    }
    pthread_mutex_unlock(&lock);
}

static void *user(void *unused)
{
    fill();
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, user, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(sum == 42);
    return 0;
}
