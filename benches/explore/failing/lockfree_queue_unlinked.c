/* A queue whose producers swap the tail and then link: a consumer in between takes it for empty, though two pushes are over.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

typedef struct node {
    struct node *_Atomic next;
} node;

static node first, nodes[2];
static node *_Atomic tail = &first;

static void push(node *n)
{
    node *before = atomic_exchange(&tail, n);
    before->next = n;
}

THREAD(producer)
{
    push(&nodes[number]);
}

THREAD(consumer)
{
    push(&nodes[1]);
    assert(first.next != 0);
}

int main(void)
{
    RUN(producer, consumer);
    return 0;
}
