/* The queue lock of Mellor-Crummey and Scott.
 * Verdict: none. */
#include "../critical_section.h"

typedef struct node {
    struct node *_Atomic next;
    atomic_bool waits;
} node;

static node nodes[2];
static node *_Atomic tail;

THREAD(party)
{
    node *mine = &nodes[number];
    node *before = atomic_exchange(&tail, mine);
    if (before) {
        mine->waits = true;
        before->next = mine;
        assume(!mine->waits);
    }
    critical_section();
    node *expected = mine;
    if (!mine->next && atomic_compare_exchange_strong(&tail, &expected, 0))
        return;
    assume(mine->next);
    mine->next->waits = false;
}

int main(void)
{
    RUN_EACH(2, party);
    return 0;
}
