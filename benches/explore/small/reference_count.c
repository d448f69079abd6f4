/* The last of three users frees; each is counted before it starts.
 * Verdict: none. */
#include "../threads.h"

static atomic_int users = 3;
static int *object;

THREAD(use)
{
    assert(*object == 5);
    if (atomic_fetch_sub(&users, 1) == 1)
        free(object);
}

int main(void)
{
    object = malloc(sizeof *object);
    *object = 5;
    RUN_EACH(3, use);
    return 0;
}
