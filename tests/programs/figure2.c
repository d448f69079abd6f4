/* Figure 2 of Said, Wang, Yang, Sakallah (NFM 2011), in C: wait and notifyAll.
 *
 * The first thread stores x without the lock, stores it once more under the lock, and waits. The
 * second reads x under the lock, wakes the first, and reads x again without the lock. The paper's
 * wait has no predicate; `told` is added so that a broadcast which comes too early is not lost.
 */
#include <pthread.h>

static pthread_mutex_t o = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int x;
static int told;

static void *second(void *unused)
{
    pthread_mutex_lock(&o);
    int inside = x; /* @read_inside */
    told = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&o);
    int outside = x; /* @read_outside */
    (void)inside;
    (void)outside;
    return unused;
}

int main(void)
{
    pthread_t t;
    x = 0; /* @init */
    pthread_create(&t, NULL, second, NULL);
    x = 1; /* @write_outside */
    pthread_mutex_lock(&o);
    x = 0; /* @write_inside */
    while (!told)
        pthread_cond_wait(&changed, &o);
    pthread_mutex_unlock(&o);
    pthread_join(t, NULL);
    return 0;
}
