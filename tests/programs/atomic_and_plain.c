/* Two atomic accesses never race; an atomic and a plain one do. */
#include <pthread.h>
#include <stdatomic.h>

static _Atomic int level;

static void *raises(void *unused)
{
    atomic_fetch_add(&level, 1); /* @raise */
    return unused;
}

static void *peeks(void *unused)
{
    int seen = *(int *)&level; /* @peek */
    (void)seen;
    return unused;
}

int main(void)
{
    pthread_t a, b, c;
    pthread_create(&a, NULL, raises, NULL);
    pthread_create(&b, NULL, raises, NULL);
    pthread_create(&c, NULL, peeks, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
