/* The flag that stands for two objects is set when the first of them is made.
 * Kind: double-checked locking. Shows as: crash. */
#include "../threads.h"

static mutex m = MUTEX;
static atomic_bool initialized;
static int numbers[2] = {1, 2};
static int *_Atomic first, *_Atomic second;
static int sum;

static void initialize(void)
{
    if (initialized)
        return;
    lock(&m);
    if (!initialized) {
        first = &numbers[0];
        initialized = true;
        second = &numbers[1];
    }
    unlock(&m);
}

THREAD(user)
{
    initialize();
    sum += *first + *second;
}

int main(void)
{
    RUN(user, user, user);
    return 0;
}
