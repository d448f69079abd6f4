/* A reader walks a list without the lock under which a node is taken out and freed.
 * Kind: use after free. Shows as: assertion. */
#include "../threads.h"

typedef struct node {
    struct node *_Atomic next;
    atomic_int value;
} node;

static mutex m = MUTEX;
static node *_Atomic head;

THREAD(reader)
{
    for (node *n = head; n; n = n->next)
        assert(n->value > 0);
}

THREAD(remover)
{
    lock(&m);
    node *gone = head->next;
    head->next = gone->next;
    unlock(&m);
    gone->value = -1;
    free(gone);
}

int main(void)
{
    node *last = 0;
    for (int i = 3; i > 0; i--) {
        node *n = malloc(sizeof *n);
        n->value = i;
        n->next = last;
        last = n;
    }
    head = last;
    RUN(reader, remover);
    return 0;
}
