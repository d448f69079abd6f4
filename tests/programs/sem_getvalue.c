/* A count that a program asks for says something too: as many posts and waits came before as leave that.
 *
 * The reader looks at `stage` only after it saw the count 0, and at `second_stage` only after it saw 1. The one wait that takes the
 * only permit, and the one post, come after the stores, so in every run of this trace's events these are over. What follows the wait
 * and the post is not.
 */
#include <pthread.h>
#include <semaphore.h>

static sem_t permit, second_permit;
static int stage, second_stage, result, second_result;

static void *reader(void *unused)
{
    int seen = 0, count;
    sem_getvalue(&permit, &count); /* @taken */
    if (count == 0)
        seen += stage; /* @read */
    seen += result; /* @late_read */
    sem_getvalue(&second_permit, &count); /* @posted */
    if (count == 1)
        seen += second_stage; /* @second_read */
    seen += second_result; /* @second_late_read */
    return (void *)(long)(seen > 100);
}

int main(void)
{
    pthread_t r;
    sem_init(&permit, 0, 1);
    sem_init(&second_permit, 0, 0);
    pthread_create(&r, NULL, reader, NULL);
    stage = 1; /* @write */
    sem_wait(&permit);
    result = 1; /* @late_write */
    second_stage = 1; /* @second_write */
    sem_post(&second_permit);
    second_result = 1; /* @second_late_write */
    pthread_join(r, NULL);
    sem_destroy(&permit);
    sem_destroy(&second_permit);
    return 0;
}
