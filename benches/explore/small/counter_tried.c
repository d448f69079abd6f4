/* Threads that find the lock taken count elsewhere, atomically.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static int counter;
static atomic_int elsewhere;

THREAD(count)
{
    if (pthread_mutex_trylock(&m) == 0) {
        counter++;
        unlock(&m);
    } else {
        elsewhere++;
    }
}

int main(void)
{
    RUN_EACH(3, count);
    assert(counter + elsewhere == 3);
    return 0;
}
