/* What pthread_once initializes is complete for all.
 * Verdict: none. */
#include "../threads.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;

static void make(void)
{
    made++;
}

THREAD(user)
{
    pthread_once(&once, make);
    assert(made == 1);
}

int main(void)
{
    RUN_EACH(3, user);
    return 0;
}
