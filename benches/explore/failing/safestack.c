/* A stack of elements that are linked by number, whose links are marked while an element is being taken. An element that was taken and given
 * back in between is not noticed, and comes to belong to two threads: it needs three threads and five changes between them. After what LaDR's
 * paper tells of SafeStack, a stack published by D. Vyukov.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

#define ELEMENTS 3
#define ROUNDS 2
#define ATTEMPTS 2

/* The element below each; -1 while it is taken, and below the last. */
static atomic_int below[ELEMENTS] = {1, 2, -1};
static atomic_int top, left = ELEMENTS;
static atomic_int users[ELEMENTS];

static int take(void)
{
    for (int attempt = 0; attempt < ATTEMPTS && left > 1; attempt++) {
        int candidate = top;
        int next = atomic_exchange(&below[candidate], -1);
        if (next < 0)
            continue;
        int expected = candidate;
        if (atomic_compare_exchange_strong(&top, &expected, next)) {
            atomic_fetch_sub(&left, 1);
            return candidate;
        }
        atomic_exchange(&below[candidate], next);
    }
    return -1;
}

static void give(int element)
{
    int seen = top;
    do
        below[element] = seen;
    while (!atomic_compare_exchange_strong(&top, &seen, element));
    atomic_fetch_add(&left, 1);
}

THREAD(user)
{
    for (int round = 0; round < ROUNDS; round++) {
        int element = take();
        if (element < 0)
            continue;
        assert(atomic_fetch_add(&users[element], 1) == 0);
        atomic_fetch_sub(&users[element], 1);
        give(element);
    }
}

int main(void)
{
    RUN_EACH(3, user);
    return 0;
}
