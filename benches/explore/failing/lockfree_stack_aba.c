/* A stack of numbered nodes whose head is changed by compare-and-swap alone: a node that was taken out and put back is not noticed.
 * Kind: lock-free. Shows as: assertion. */
#include "../threads.h"

/* Node 0 is the end. */
static atomic_int head, next[4];
static atomic_int holders[4];

static void push(int node)
{
    int top = head;
    do
        next[node] = top;
    while (!atomic_compare_exchange_strong(&head, &top, node));
}

static int pop(void)
{
    int top = head;
    while (top && !atomic_compare_exchange_strong(&head, &top, next[top]))
        ;
    return top;
}

static void take(int node)
{
    if (node)
        assert(atomic_fetch_add(&holders[node], 1) == 0);
}

static void give(int node)
{
    if (node) {
        atomic_fetch_sub(&holders[node], 1);
        push(node);
    }
}

THREAD(one)
{
    take(pop());
    take(pop());
}

THREAD(other)
{
    int a = pop();
    take(a);
    int b = pop();
    take(b);
    give(a);
}

int main(void)
{
    push(3);
    push(2);
    push(1);
    RUN(one, other);
    return 0;
}
