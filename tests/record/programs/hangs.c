/* A program that somebody has to end: one thread waits for a flag that nobody sets, in the way that the argument says,
 * while another one waits for the first.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static int volatile plain_flag;
static atomic_int atomic;
static int volatile guarded_flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t robust;
static const char *how;

static int is_set(void)
{
    pthread_mutex_lock(&mutex);
    int set = guarded_flag; /* @guarded */
    pthread_mutex_unlock(&mutex);
    return set;
}

static void *wait_for_flag(void *unused)
{
    if (!strcmp(how, "plain"))
        while (!plain_flag) /* @plain */
            ;
    else if (!strcmp(how, "atomic"))
        while (!atomic_load(&atomic)) /* @atomic */
            ;
    else if (!strcmp(how, "yield"))
        while (!atomic_load(&atomic)) /* @yield */
            sched_yield();
    else if (!strcmp(how, "sleep"))
        while (!plain_flag) /* @sleep */
            usleep(1000);
    else if (!strcmp(how, "guarded"))
        while (!is_set())
            sched_yield();
    else if (!strcmp(how, "robust"))
        for (;;) { /* Reads nothing; what the recorder notes of the mutex is no variable of the program's. */
            pthread_mutex_lock(&robust);
            pthread_mutex_unlock(&robust);
        }
    else
        for (long turns = 0;; turns++) /* @count */
            plain_flag = 0;
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t t;
    how = count > 1 ? arguments[1] : "plain";
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_create(&t, NULL, wait_for_flag, NULL);
    pthread_join(t, NULL);
    return 0;
}
