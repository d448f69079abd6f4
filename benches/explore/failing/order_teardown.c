/* Main counts finished jobs, and takes the log away when the count is full; a worker writes to the log after it has counted.
 * Kind: order. Shows as: crash. */
#include "../threads.h"

static mutex m = MUTEX;
static int finished;
static int lines;
static int *log_lines = &lines;

THREAD(worker)
{
    lock(&m);
    finished++;
    unlock(&m);
    *log_lines += 1;
}

int main(void)
{
    start(worker, 0);
    start(worker, 1);
    lock(&m);
    bool all = finished == 2;
    unlock(&m);
    if (all)
        log_lines = 0;
    join_all();
    return 0;
}
