/* Two readers and a writer under pthread's lock.
 * Verdict: none. */
#include "../threads.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static int low, high;

THREAD(reader)
{
    pthread_rwlock_rdlock(&l);
    assert(low == high);
    pthread_rwlock_unlock(&l);
}

THREAD(writer)
{
    pthread_rwlock_wrlock(&l);
    low++;
    high++;
    pthread_rwlock_unlock(&l);
}

int main(void)
{
    RUN(reader, reader, writer);
    return 0;
}
