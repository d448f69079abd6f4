/* Two pushes and a pop on a lock-free stack whose nodes are not used again.
 * Verdict: none. */
#include "../threads.h"

typedef struct node {
    struct node *next;
    int value;
} node;

static node nodes[2];
static node *_Atomic top;
static atomic_int popped;

static void push(node *n, int value)
{
    n->value = value;
    n->next = top;
    while (!atomic_compare_exchange_strong(&top, &n->next, n))
        ;
}

THREAD(pusher)
{
    push(&nodes[number], (int)number + 1);
}

THREAD(popper)
{
    node *n = top;
    if (n && atomic_compare_exchange_strong(&top, &n, n->next))
        popped = n->value;
}

int main(void)
{
    RUN(pusher, pusher, popper);
    int left = 0;
    for (node *n = top; n; n = n->next)
        left += n->value;
    assert(left + popped == 3);
    return 0;
}
