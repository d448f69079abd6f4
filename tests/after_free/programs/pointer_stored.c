// A node is put at the head of a list, which may have been emptied: what was there is stored, near to it, not followed.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node {
    struct node *next;
    long number;
} nodes[2], *list;

static void *push(void *argument)
{
    struct node *node = argument;
    pthread_mutex_lock(&lock);
    node->next = list;
    list = node;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *empty(void *argument)
{
    pthread_mutex_lock(&lock);
    list = NULL;
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    list = &nodes[0];
    pthread_t pusher, emptier;
    pthread_create(&pusher, NULL, push, &nodes[1]);
    pthread_create(&emptier, NULL, empty, NULL);
    pthread_join(pusher, NULL);
    pthread_join(emptier, NULL);
    return 0;
}
