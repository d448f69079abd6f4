// The harmless twin of stale_list.c: both ends of the list are seen to before the entry is freed.
#include <pthread.h>
#include <stdlib.h>

struct entry {
    struct entry *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry anchor, *first, *last;

static void *pop(void *argument)
{
    pthread_mutex_lock(&lock);
    struct entry *gone = first;
    first = gone->next;
    if (!first)
        last = &anchor;
    free(gone);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *push(void *argument)
{
    struct entry *entry = calloc(1, sizeof *entry);
    pthread_mutex_lock(&lock);
    last->next = entry;
    pthread_mutex_unlock(&lock);
    free(entry);
    return argument;
}

int main(void)
{
    first = last = calloc(1, sizeof *first);
    pthread_t takes, adds;
    pthread_create(&takes, NULL, pop, NULL);
    pthread_create(&adds, NULL, push, NULL);
    pthread_join(takes, NULL);
    pthread_join(adds, NULL);
    return 0;
}
