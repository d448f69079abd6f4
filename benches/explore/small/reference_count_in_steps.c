/* The count of users is changed in two steps: both may take themselves for the last.
 * Verdict: assertion. */
#include "../threads.h"

static atomic_int users = 2, freed;

THREAD(use)
{
    users--;
    if (users == 0)
        assert(atomic_fetch_add(&freed, 1) == 0);
}

int main(void)
{
    RUN_EACH(2, use);
    return 0;
}
