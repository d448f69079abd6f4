/* A detached worker uses its argument after it has said that it is done, on which the argument is cleared and freed.
 * Kind: use after free. Shows as: assertion. */
#include "../threads.h"

typedef struct {
    atomic_bool done;
    atomic_int result;
} job;

static job *_Atomic shared;

THREAD(worker)
{
    job *j = shared;
    j->done = true;
    j->result = j->result + 1;
    assert(j->result > 0);
}

THREAD(owner)
{
    job *j = shared;
    if (j->done) {
        j->result = -5;
        shared = 0;
    }
}

int main(void)
{
    shared = calloc(1, sizeof(job));
    job *mine = shared;
    start(worker, 0);
    owner(0);
    join_all();
    free(mine);
    return 0;
}
