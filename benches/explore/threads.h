/* What the programs beside this file share: they start threads and wait for them. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef pthread_mutex_t mutex;
typedef pthread_cond_t condition;

#define MUTEX PTHREAD_MUTEX_INITIALIZER
#define CONDITION PTHREAD_COND_INITIALIZER

#define lock pthread_mutex_lock
#define unlock pthread_mutex_unlock
#define await pthread_cond_wait
#define signal_one pthread_cond_signal
#define signal_all pthread_cond_broadcast

/* The body of a thread, which knows its number among those that are started together. */
#define THREAD(name) \
    static void name##_body(intptr_t number); \
    static void *name(void *argument) \
    { \
        name##_body((intptr_t)argument); \
        return 0; \
    } \
    static void name##_body(intptr_t number __attribute__((unused)))

#define MOST_THREADS 128

static pthread_t started[MOST_THREADS];
static int start_count;

/* Starts a thread with this body. */
static inline void start(void *(*body)(void *), intptr_t number)
{
    pthread_create(&started[start_count++], 0, body, (void *)number);
}

/* Waits for all that were started. */
static inline void join_all(void)
{
    for (int i = 0; i < start_count; i++)
        pthread_join(started[i], 0);
    start_count = 0;
}

/* Starts a thread for each body, and waits for them. */
#define RUN(...) \
    do { \
        void *(*bodies[])(void *) = {__VA_ARGS__}; \
        for (unsigned i = 0; i < sizeof bodies / sizeof bodies[0]; i++) \
            start(bodies[i], i); \
        join_all(); \
    } while (0)

/* Starts so many threads with the same body, and waits for them. */
#define RUN_EACH(count, body) \
    do { \
        for (int i = 0; i < (count); i++) \
            start(body, i); \
        join_all(); \
    } while (0)

/* Ends a thread that would have to wait for this, as stateless model checkers do: `while (!c);` has an endless tree of histories, and what can
 * happen after the loop can happen without its rounds. */
#define assume(c) \
    do { \
        if (!(c)) \
            return; \
    } while (0)
