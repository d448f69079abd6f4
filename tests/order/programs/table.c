// A reader looks into a table that a loader has yet to publish.
#include <pthread.h>
#include <stdlib.h>

struct table {
    int rows;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct table *table;

static void *look(void *unused)
{
    pthread_rwlock_rdlock(&lock);
    int rows = table->rows; /* @early */
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
