/* A linked queue for many producers: swap the tail, then link; a consumer that meets a gap gives up.
 * Verdict: none. */
#include "../threads.h"

typedef struct node {
    struct node *_Atomic next;
    int value;
} node;

static node stub, nodes[2];
static node *_Atomic tail = &stub;
static atomic_int taken;

THREAD(producer)
{
    node *mine = &nodes[number];
    mine->value = (int)number + 1;
    node *before = atomic_exchange(&tail, mine);
    before->next = mine;
}

THREAD(consumer)
{
    node *next = stub.next;
    if (next)
        taken += next->value;
}

int main(void)
{
    RUN(producer, producer, consumer);
    assert(taken <= 2 && stub.next && stub.next->next && !stub.next->next->next);
    return 0;
}
