// What was found last is remembered. Who removes an entry forgets that it may be the one.
#include <pthread.h>
#include <stdlib.h>

struct entry {
    int hits;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries[2], *last;

static void *find(void *argument)
{
    pthread_mutex_lock(&lock);
    last = entries[1];
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *delete(void *argument)
{
    pthread_mutex_lock(&lock);
    struct entry *gone = entries[0];
    entries[0] = NULL;
    free(gone); /* @free */
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *hit(void *argument)
{
    pthread_mutex_lock(&lock);
    last->hits++; /* @use */
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    entries[0] = calloc(1, sizeof(struct entry));
    entries[1] = calloc(1, sizeof(struct entry));
    last = entries[0];
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, find, NULL);
    pthread_create(&threads[1], NULL, delete, NULL);
    pthread_create(&threads[2], NULL, hit, NULL);
    for (int thread = 0; thread < 3; thread++)
        pthread_join(threads[thread], NULL);
    free(entries[1]);
    return 0;
}
