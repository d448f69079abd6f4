/* One signal for two that wait, then one for the other; who was first is the exit status. With an argument, nobody signals, and the waits
   have a limit. */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int waiting, timed, first;

static void *waiter(void *number) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 3600;
    pthread_mutex_lock(&m);
    waiting++;
    if (timed)
        pthread_cond_timedwait(&c, &m, &limit);
    else
        pthread_cond_wait(&c, &m);
    if (first == 0)
        first = (int)(long)number;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(int count, char **arguments) {
    pthread_t t[2];
    timed = count > 1;
    (void)arguments;
    pthread_create(&t[0], 0, waiter, (void *)1);
    pthread_create(&t[1], 0, waiter, (void *)2);
    for (int signals = 0; signals < 2;) {
        pthread_mutex_lock(&m);
        if (waiting > signals) {
            if (signals > 0 || waiting == 2) {
                pthread_cond_signal(&c);
                signals++;
            }
        }
        pthread_mutex_unlock(&m);
    }
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return first;
}
