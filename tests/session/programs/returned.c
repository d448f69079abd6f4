/* A stack without locks whose nodes are used again: what one thread takes off, the other one may put back meanwhile, and
 * both return the same node. What they return, the first thread sees when it joins them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct node {
    _Atomic(struct node *) next;
};

static struct node nodes[2];
static _Atomic(struct node *) top;

static struct node *pop(void)
{
    struct node *node = top;
    while (node && !atomic_compare_exchange_strong(&top, &node, node->next))
        ;
    return node;
}

static void push(struct node *node)
{
    struct node *below = top;
    do
        node->next = below;
    while (!atomic_compare_exchange_strong(&top, &below, node));
}

static void *takes(void *unused)
{
    return pop();
}

static void *takes_and_gives(void *unused)
{
    struct node *first = pop(), *second = pop();
    if (first)
        push(first);
    return second;
}

int main(void)
{
    push(&nodes[1]);
    push(&nodes[0]);
    pthread_t t, u;
    void *one, *other;
    pthread_create(&t, NULL, takes, NULL);
    pthread_create(&u, NULL, takes_and_gives, NULL);
    pthread_join(t, &one);
    pthread_join(u, &other);
    struct node *left = pop();
    if (left && (left == one || left == other))
        abort();
    return 0;
}
