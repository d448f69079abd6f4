/* Double-checked locking with a plain pointer.
 * Verdict: race. */
#include "../threads.h"

static mutex m = MUTEX;
static int object;
static int *instance;

THREAD(user)
{
    if (!instance) {
        lock(&m);
        if (!instance) {
            object = 1;
            instance = &object;
        }
        unlock(&m);
    }
}

int main(void)
{
    RUN_EACH(2, user);
    return 0;
}
