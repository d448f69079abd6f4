/* A user looks an object up and counts itself as its user in the next step; the last user before frees it in between.
 * Kind: use after free. Shows as: assertion. */
#include "../threads.h"

typedef struct {
    atomic_int users;
    atomic_int alive;
} object;

static object made = {1, 1};
static object *_Atomic found = &made;

static void put(object *o)
{
    if (atomic_fetch_sub(&o->users, 1) == 1)
        o->alive = 0;
}

THREAD(user)
{
    object *o = found;
    if (o) {
        atomic_fetch_add(&o->users, 1);
        assert(o->alive);
        put(o);
    }
}

THREAD(remover)
{
    found = 0;
    put(&made);
}

int main(void)
{
    RUN(user, remover);
    return 0;
}
