/* Whoever comes first decides whether the other one uses what is freed: in the order of creation nobody frees it. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *value, used;

static void *user(void *unused)
{
    pthread_mutex_lock(&lock);
    *value = 7; used = 1; /* @use */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *closer(void *unused)
{
    pthread_mutex_lock(&lock);
    if (!used) free(value); /* @free */
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    value = malloc(sizeof *value);
    pthread_create(&threads[0], NULL, user, NULL);
    pthread_create(&threads[1], NULL, closer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
