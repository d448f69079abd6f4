/* A block that is freed while another thread may still use it.
 *
 * Freeing counts as a write of the whole block. The free after the join is ordered; the one before
 * is not.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int *early, *late;

static void *worker(void *unused)
{
    early[0] = 1; /* @early_write */
    late[0] = 1;  /* @late_write */
    return unused;
}

int main(void)
{
    pthread_t t;
    early = malloc(sizeof *early);
    late = malloc(sizeof *late);
    pthread_create(&t, NULL, worker, NULL);
    usleep(20000); /* the worker's turn */
    free(early);   /* @early_free */
    pthread_join(t, NULL);
    free(late); /* @late_free */
    return 0;
}
