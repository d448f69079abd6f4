/* A worker looks for the stop under the lock under which it is set, so no job begins after it.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static bool stopped;
static int jobs, jobs_at_stop = -1;

THREAD(worker)
{
    for (int i = 0; i < 2; i++) {
        lock(&m);
        if (!stopped)
            jobs++;
        unlock(&m);
    }
}

THREAD(stopper)
{
    lock(&m);
    stopped = true;
    jobs_at_stop = jobs;
    unlock(&m);
}

int main(void)
{
    RUN(worker, stopper);
    assert(jobs == jobs_at_stop);
    return 0;
}
