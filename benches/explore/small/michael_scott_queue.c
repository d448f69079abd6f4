/* Two producers and a consumer on the lock-free queue of Michael and Scott (PODC 1996), without giving nodes back.
 * Verdict: none. */
#include "../threads.h"

typedef struct node {
    struct node *_Atomic next;
    int value;
} node;

static node nodes[3];
static node *_Atomic head = &nodes[2], *_Atomic tail = &nodes[2];
static atomic_int taken;

static void enqueue(node *n)
{
    for (int attempt = 0; attempt < 3; attempt++) {
        node *last = tail, *next = last->next;
        if (next) {
            atomic_compare_exchange_strong(&tail, &last, next);
        } else if (atomic_compare_exchange_strong(&last->next, &next, n)) {
            atomic_compare_exchange_strong(&tail, &last, n);
            return;
        }
    }
    assert(!"two producers need three attempts at most");
}

THREAD(producer)
{
    nodes[number].value = (int)number + 1;
    enqueue(&nodes[number]);
}

THREAD(consumer)
{
    node *first = head, *next = first->next;
    if (next && atomic_compare_exchange_strong(&head, &first, next))
        taken = next->value;
}

int main(void)
{
    RUN(producer, producer, consumer);
    int left = 0;
    for (node *n = head->next; n; n = n->next)
        left += n->value;
    assert(left + taken == 3);
    return 0;
}
