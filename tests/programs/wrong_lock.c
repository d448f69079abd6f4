/* Both sides take a lock, but not the same one.
 *
 * `plain`: one thread holds `a`, the other `b`. `nested`: the first has also taken `b` since it took
 * `a`, and given it back. Its acquisition history thus names the lock that the second holds, but
 * not the other way round, which excludes nothing: the second takes `b` afterwards.
 */
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static int plain, nested;

static void *holds_a(void *unused)
{
    pthread_mutex_lock(&a);
    plain = 1; /* @plain_a */
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    nested = 1; /* @nested_a */
    pthread_mutex_unlock(&a);
    return unused;
}

static void *holds_b(void *unused)
{
    pthread_mutex_lock(&b);
    plain = 2;  /* @plain_b */
    nested = 2; /* @nested_b */
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
