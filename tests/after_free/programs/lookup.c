// A reader keeps what it looked up in one section and uses it in the next; a writer removes it in between.
#include <pthread.h>
#include <stdlib.h>

struct entry {
    int hits;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct entry *table;

static void *look(void *argument)
{
    (void)argument;
    pthread_rwlock_rdlock(&lock);
    struct entry *entry = table;
    pthread_rwlock_unlock(&lock);
    if (!entry)
        return NULL;
    pthread_rwlock_rdlock(&lock);
    int hits = entry->hits; /* @use */
    pthread_rwlock_unlock(&lock);
    return hits > 1000 ? argument : NULL;
}

static void *drop(void *argument)
{
    (void)argument;
    pthread_rwlock_wrlock(&lock);
    struct entry *entry = table;
    table = NULL;
    free(entry); /* @free */
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void)
{
    table = calloc(1, sizeof *table);
    pthread_t reader, writer;
    pthread_create(&reader, NULL, look, NULL);
    pthread_create(&writer, NULL, drop, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    return 0;
}
