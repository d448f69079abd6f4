/* Double-checked locking, the broken way.
 *
 * The unlocked check of `instance` races with its publication under the lock. The use of the
 * object's field does not, in this trace: the thread could only reach it after it had read the
 * pointer that the publication stored.
 */
#include <pthread.h>
#include <stdlib.h>

struct config {
    int limit;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config *instance;

static int limit(void)
{
    if (instance == NULL) { /* @check */
        pthread_mutex_lock(&lock);
        if (instance == NULL) {
            struct config *fresh = malloc(sizeof *fresh);
            fresh->limit = 64; /* @construct */
            instance = fresh;  /* @publish */
        }
        pthread_mutex_unlock(&lock);
    }
    struct config *found = instance; /* @fetch */
    return found->limit;             /* @use */
}

static void *user(void *unused)
{
    return limit() == 64 ? unused : NULL;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, user, NULL);
    pthread_create(&second, NULL, user, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    free(instance);
    return 0;
}
