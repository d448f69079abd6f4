/* Which number a key gets depends on who creates one first, and one thread looks at it: the race is there only if that
 * thread comes first. */
#include <pthread.h>

static int raced;
static pthread_key_t next;

static void *one(void *unused)
{
    pthread_key_t key;
    pthread_key_create(&key, 0);
    raced = 1; /* @one */
    return unused;
}

static void *two(void *unused)
{
    pthread_key_t key;
    pthread_key_create(&key, 0);
    if (key == next)
        raced = 2; /* @two */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_key_create(&next, 0);
    pthread_key_delete(next);
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
