// The first entry of a list is removed in one critical section. That it may have been the last, too, is seen to in the
// next.
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
    free(gone); /* @free */
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    if (!first)
        last = &anchor;
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *push(void *argument)
{
    struct entry *entry = calloc(1, sizeof *entry);
    pthread_mutex_lock(&lock);
    last->next = entry; /* @use */
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
