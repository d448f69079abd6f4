/* pthread_once: whoever comes second finds the initialization done. */
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int table;

static void fill(void)
{
    table = 3; /* @fill */
}

static void *user(void *unused)
{
    pthread_once(&once, fill);
    int seen = table; /* @use */
    (void)seen;
    return unused;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, user, NULL);
    pthread_create(&u, NULL, user, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
