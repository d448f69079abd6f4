/* Double-checked locking that stores the pointer before the object behind it is complete.
 * Kind: double-checked locking. Shows as: assertion. */
#include "../threads.h"

typedef struct {
    atomic_int complete;
} single;

static mutex m = MUTEX;
static single the_one;
static single *_Atomic instance;

static single *get(void)
{
    if (!instance) {
        lock(&m);
        if (!instance) {
            instance = &the_one;
            the_one.complete = 1;
        }
        unlock(&m);
    }
    return instance;
}

THREAD(user)
{
    assert(get()->complete);
}

int main(void)
{
    RUN(user, user);
    return 0;
}
