/* A semaphore orders only if it had to wait.
 *
 * `handed` starts at 0, so the post comes before the wait that takes it. `spare` starts at 1, so its
 * wait can take the one that was there from the start, and the post orders nothing.
 */
#include <pthread.h>
#include <semaphore.h>

static sem_t handed, spare;
static int ordered, unordered;

static void *giver(void *unused)
{
    ordered = 1;   /* @ordered_write */
    unordered = 1; /* @unordered_write */
    sem_post(&spare);
    sem_post(&handed);
    return unused;
}

static void *waits_for_post(void *unused)
{
    sem_wait(&handed); /* @wait */
    int seen = ordered; /* @ordered_read */
    (void)seen;
    return unused;
}

static void *waits_for_nothing(void *unused)
{
    sem_wait(&spare);
    int seen = unordered; /* @unordered_read */
    (void)seen;
    return unused;
}

int main(void)
{
    pthread_t g, w, n;
    sem_init(&handed, 0, 0);
    sem_init(&spare, 0, 1);
    pthread_create(&g, NULL, giver, NULL);
    pthread_create(&w, NULL, waits_for_post, NULL);
    pthread_create(&n, NULL, waits_for_nothing, NULL);
    pthread_join(g, NULL);
    pthread_join(w, NULL);
    pthread_join(n, NULL);
    sem_destroy(&handed);
    sem_destroy(&spare);
    return 0;
}
