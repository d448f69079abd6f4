/* What no schedule is searched for: each argument is another reason why not everything is covered. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t permits;
static int ready, seen;
static volatile int told;

static void in_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, 0, body, argument);
    pthread_join(thread, 0);
}

static void *count(void *unused)
{
    pthread_mutex_lock(&lock);
    seen++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void begin(void)
{
    seen++;
}

/* A cell of its own, which is begun anew each time. */
static void *begin_once(void *unused)
{
    pthread_once_t own = PTHREAD_ONCE_INIT;
    pthread_once(&own, begin);
    return unused;
}

static void *take(void *unused)
{
    if (sem_trywait(&permits) == 0)
        count(unused);
    return unused;
}

/* The round takes two threads, and there is one. */
static void *enter(void *unused)
{
    pthread_barrier_wait(&barrier);
    return unused;
}

static void wait_too(int unused)
{
    struct timespec at_once = {0, 0};
    (void)unused;
    pthread_mutex_lock(&inner);
    pthread_cond_timedwait(&never, &inner, &at_once);
    pthread_mutex_unlock(&inner);
    told = 1;
}

static void *wait_and_be_interrupted(void *unused)
{
    pthread_mutex_lock(&lock);
    ready = 1;
    while (ready != 2)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void interrupt_a_wait(void)
{
    pthread_t thread;
    int is_ready = 0;
    signal(SIGUSR1, wait_too);
    pthread_create(&thread, 0, wait_and_be_interrupted, 0);
    while (!is_ready) {
        pthread_mutex_lock(&lock);
        is_ready = ready;
        pthread_mutex_unlock(&lock);
    }
    pthread_kill(thread, SIGUSR1);
    while (!told)
        usleep(1000);
    pthread_mutex_lock(&lock);
    ready = 2;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
}

static void notice(union sigval unused)
{
    (void)unused;
    count(0);
}

/* A thread that the C library makes for itself. */
static void be_told_by_a_timer(void)
{
    timer_t timer;
    struct sigevent event;
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    int is_seen = 0;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = notice;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, 0);
    while (!is_seen) {
        usleep(1000);
        pthread_mutex_lock(&lock);
        is_seen = seen;
        pthread_mutex_unlock(&lock);
    }
}

int main(int count_of_arguments, char **arguments)
{
    const char *what = count_of_arguments > 1 ? arguments[1] : "";
    if (!strcmp(what, "barrier")) {
        pthread_barrier_init(&barrier, 0, 2);
        in_thread(enter, 0);
    } else if (!strcmp(what, "object")) {
        pthread_mutex_t own;
        for (int round = 0; round < 2; round++) {
            pthread_mutex_init(&own, 0);
            pthread_mutex_lock(&own);
            in_thread(count, 0);
            pthread_mutex_unlock(&own);
            pthread_mutex_destroy(&own);
        }
    } else if (!strcmp(what, "once")) {
        for (int round = 0; round < 2; round++)
            begin_once(0);
        in_thread(begin_once, 0);
    } else if (!strcmp(what, "semaphore")) {
        for (int round = 2; round; round--) {
            sem_init(&permits, 0, round);
            in_thread(take, 0);
            sem_destroy(&permits);
        }
    } else if (!strcmp(what, "timer")) {
        be_told_by_a_timer();
    } else if (!strcmp(what, "handler")) {
        interrupt_a_wait();
    } else if (!strcmp(what, "end")) {
        in_thread(count, 0);
        __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
    }
    return 0;
}
