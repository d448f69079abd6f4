/* A queue whose producers set the tail's link by a store: one of two that saw the same tail is lost.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

typedef struct node {
    struct node *_Atomic next;
} node;

static node first, nodes[2];
static node *_Atomic tail = &first;

THREAD(producer)
{
    node *last = tail;
    last->next = &nodes[number];
    tail = &nodes[number];
}

int main(void)
{
    RUN(producer, producer);
    int count = 0;
    for (node *n = first.next; n; n = n->next)
        count++;
    assert(count == 2);
    return 0;
}
