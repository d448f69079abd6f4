/* A struct assignment is an access of every byte of it.
 *
 * The copy reads 24 bytes at once; the writer changes the field in their middle.
 */
#include <pthread.h>

static struct reading {
    long time, value, unit;
} latest, copy;

static void *writer(void *unused)
{
    latest.value = 8; /* @write */
    return unused;
}

static void *copier(void *unused)
{
    copy = latest; /* @copy */
    return unused;
}

int main(void)
{
    pthread_t w, c;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&c, NULL, copier, NULL);
    pthread_join(w, NULL);
    pthread_join(c, NULL);
    return 0;
}
