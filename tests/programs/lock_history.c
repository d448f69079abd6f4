/* Lock acquisition histories (Kahlon, Ivancic, Gupta, CAV 2005).
 *
 * At its store, the first thread holds `a` alone and the second `b` alone, so their locksets have
 * nothing in common. But since taking `a` the first thread has taken and given back `b`, and since
 * taking `b` the second has done so with `a`: each would need the lock that the other holds, so both
 * cannot be there at once. The gate keeps the opposite nesting from ever deadlocking; neither thread
 * holds it at the store.
 */
#include <pthread.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static int cell;

static void *holds_a(void *unused)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&gate);
    cell = 1; /* @under_a */
    pthread_mutex_unlock(&a);
    return unused;
}

static void *holds_b(void *unused)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&gate);
    cell = 2; /* @under_b */
    pthread_mutex_unlock(&b);
    return unused;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, holds_a, NULL);
    pthread_create(&u, NULL, holds_b, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
