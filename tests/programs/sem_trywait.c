/* An attempt at a semaphore that failed says something too: its count was 0 at that moment.
 *
 * The reader looks at `stage` and `second_stage` only after its attempts failed. The one wait that takes the only permit comes
 * after the store, so in every run of this trace's events the store is over. What follows the waits is not.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t permit, second_permit;
static int stage, second_stage, result, second_result;

static struct timespec soon(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec += 20000000;
    now.tv_sec += now.tv_nsec / 1000000000;
    now.tv_nsec %= 1000000000;
    return now;
}

static void *reader(void *unused)
{
    int seen = 0;
    if (sem_trywait(&permit) == 0) /* @try */
        sem_post(&permit);
    else if (errno == EAGAIN)
        seen += stage; /* @read */
    seen += result; /* @late_read */
    struct timespec deadline = soon();
    if (sem_timedwait(&second_permit, &deadline) == 0) /* @timed */
        sem_post(&second_permit);
    else if (errno == ETIMEDOUT)
        seen += second_stage; /* @second_read */
    seen += second_result; /* @second_late_read */
    return (void *)(long)(seen > 100);
}

int main(void)
{
    pthread_t r;
    sem_init(&permit, 0, 1);
    sem_init(&second_permit, 0, 1);
    pthread_create(&r, NULL, reader, NULL);
    stage = 1; /* @write */
    sem_wait(&permit);
    result = 1; /* @late_write */
    second_stage = 1; /* @second_write */
    sem_wait(&second_permit);
    second_result = 1; /* @second_late_write */
    pthread_join(r, NULL);
    sem_destroy(&permit);
    sem_destroy(&second_permit);
    return 0;
}
