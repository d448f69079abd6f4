// The harmless twin of lookup.c: each section looks for itself.
#include <pthread.h>
#include <stdlib.h>

struct entry {
    int hits;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct entry *table;

static void *look(void *argument)
{
    int hits = 0;
    for (int i = 0; i < 2; i++) {
        pthread_rwlock_rdlock(&lock);
        if (table)
            hits = table->hits;
        pthread_rwlock_unlock(&lock);
    }
    return hits > 1000 ? argument : NULL;
}

static void *drop(void *argument)
{
    (void)argument;
    pthread_rwlock_wrlock(&lock);
    struct entry *entry = table;
    table = NULL;
    pthread_rwlock_unlock(&lock);
    free(entry);
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
