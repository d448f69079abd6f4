/* A recursive mutex is free only when its outermost level is given back.
 *
 * The store of `inner` comes after the inner unlock and before the outer one. A model in which the
 * first unlock frees the mutex reports it.
 */
#define _GNU_SOURCE
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int inner, after;

static void *twice(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    inner = 1; /* @held_once */
    pthread_mutex_unlock(&lock);
    after = 1; /* @released */
    return unused;
}

static void *once(void *unused)
{
    pthread_mutex_lock(&lock);
    inner = 2; /* @other */
    after = 2; /* @other_after */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t t, o;
    pthread_create(&t, NULL, twice, NULL);
    pthread_create(&o, NULL, once, NULL);
    pthread_join(t, NULL);
    pthread_join(o, NULL);
    return 0;
}
