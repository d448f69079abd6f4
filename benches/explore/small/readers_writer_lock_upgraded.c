/* A reader gives its lock back before it takes the writers': another writer may come between.
 * Verdict: assertion. */
#include "../threads.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static int counter;

THREAD(upgrade)
{
    pthread_rwlock_rdlock(&l);
    int seen = counter;
    pthread_rwlock_unlock(&l);
    pthread_rwlock_wrlock(&l);
    counter = seen + 1;
    pthread_rwlock_unlock(&l);
}

int main(void)
{
    RUN(upgrade, upgrade);
    assert(counter == 2);
    return 0;
}
