/* As many threads as the argument says, all alive at once: they meet at a barrier, wait for a signal, count under a lock, and are
 * joined last to first. Prints the milliseconds of processor time that the whole took. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static pthread_barrier_t everybody;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int open_now, counted;

static void *member(void *argument) {
    pthread_barrier_wait(&everybody);
    pthread_mutex_lock(&lock);
    while (!open_now)
        pthread_cond_wait(&opened, &lock);
    counted++;
    pthread_mutex_unlock(&lock);
    return argument;
}

static long milliseconds(struct timeval time) { return time.tv_sec * 1000 + time.tv_usec / 1000; }

int main(int arguments, char **argument) {
    int count = atoi(argument[1]);
    pthread_t *threads = malloc(count * sizeof *threads);
    pthread_barrier_init(&everybody, NULL, count + 1);
    for (long number = 0; number < count; number++)
        assert(pthread_create(&threads[number], NULL, member, (void *)number) == 0);
    pthread_barrier_wait(&everybody);
    pthread_mutex_lock(&lock);
    open_now = 1;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
    for (long number = count; number-- > 0;) {
        void *result;
        assert(pthread_join(threads[number], &result) == 0 && result == (void *)number);
    }
    assert(counted == count);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("%ld\n", milliseconds(used.ru_utime) + milliseconds(used.ru_stime));
    return 0;
}
