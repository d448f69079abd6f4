// What ThreadSanitizer warns of besides data races, one after another.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t never_locked = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;
static atomic_int handled;

static void take_first_then_second(void)
{
    pthread_mutex_lock(&first_lock);
    pthread_mutex_lock(&second_lock);
    pthread_mutex_unlock(&second_lock);
    pthread_mutex_unlock(&first_lock);
}

static void *take_second_then_first(void *unused)
{
    pthread_mutex_lock(&second_lock);
    pthread_mutex_lock(&first_lock);
    pthread_mutex_unlock(&first_lock);
    pthread_mutex_unlock(&second_lock);
    return unused;
}

static void unlock_what_is_free(void)
{
    pthread_mutex_unlock(&never_locked);
}

static void destroy_what_is_held(void)
{
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, NULL);
    pthread_mutex_lock(lock);
    pthread_mutex_destroy(lock);
    free(lock);
}

static void allocating_handler(int signal)
{
    (void)signal;
    kept = malloc(8);
}

static void careless_handler(int signal)
{
    (void)signal;
    errno = 77;
    atomic_store(&handled, 1);
}

static void *send_a_signal(void *receiver)
{
    pthread_kill(*(pthread_t *)receiver, SIGUSR2);
    return NULL;
}

static void *idle(void *unused)
{
    return unused;
}

static void forget_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, idle, NULL);
}

int main(void)
{
    pthread_t thread, self = pthread_self();
    take_first_then_second();
    pthread_create(&thread, NULL, take_second_then_first, NULL);
    pthread_join(thread, NULL);
    unlock_what_is_free();
    destroy_what_is_held();
    signal(SIGUSR1, allocating_handler);
    signal(SIGUSR2, careless_handler);
    raise(SIGUSR1);
    pthread_create(&thread, NULL, send_a_signal, &self);
    // The handler runs in between, and not while the thread waits.
    while (!atomic_load(&handled))
        kept = strdup("a call that ThreadSanitizer intercepts");
    pthread_join(thread, NULL);
    forget_a_thread();
    usleep(1000);
    return 0;
}
