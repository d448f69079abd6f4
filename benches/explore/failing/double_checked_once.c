/* The check is not repeated under the lock, so two threads make an object each.
 * Kind: double-checked locking. Shows as: assertion. */
#include "../threads.h"

static mutex m = MUTEX;
static int *_Atomic instance;
static int made;

static int *get(void)
{
    if (!instance) {
        lock(&m);
        made++;
        instance = malloc(sizeof(int));
        unlock(&m);
    }
    return instance;
}

THREAD(user)
{
    get();
}

int main(void)
{
    RUN(user, user);
    assert(made == 1);
    return 0;
}
