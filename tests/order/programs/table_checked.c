// The harmless twin of table.c: the reader asks whether there is a table.
#include <pthread.h>
#include <stdlib.h>

struct table {
    int rows;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct table *table;

static void *look(void *unused)
{
    int rows = 0;
    pthread_rwlock_rdlock(&lock);
    if (table)
        rows = table->rows;
    pthread_rwlock_unlock(&lock);
    return rows > 1000 ? unused : NULL;
}

static void *load(void *unused)
{
    struct table *loaded = malloc(sizeof *loaded);
    loaded->rows = 12;
    pthread_rwlock_wrlock(&lock);
    table = loaded; /* @first */
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, load, NULL);
    pthread_create(&other, NULL, look, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
