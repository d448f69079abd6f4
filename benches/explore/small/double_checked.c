/* Double-checked locking with an atomic pointer that is stored last.
 * Verdict: none. */
#include "../threads.h"

static mutex m = MUTEX;
static int object;
static int *_Atomic instance;

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
    assert(*instance == 1);
}

int main(void)
{
    RUN_EACH(2, user);
    return 0;
}
