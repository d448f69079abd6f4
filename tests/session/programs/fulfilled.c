/* A task is over when it was executed and its event was fulfilled: by another task, by a thread that is in no team, or of
 * a task that its creator executes at once. Whatever comes first, the program does not abort. */
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

static int by_task, by_thread;
static omp_event_handle_t kept;

static void check(int ok)
{
    if (!ok)
        abort();
}

static void *fulfills(void *event)
{
    by_thread = 1;
    omp_fulfill_event(*(omp_event_handle_t *)event);
    return NULL;
}

static void of_task(void)
{
    omp_event_handle_t event;
#pragma omp task detach(event)
    by_task = 1;
#pragma omp task
    omp_fulfill_event(event);
#pragma omp taskwait
    by_task++;
    check(by_task == 2);
}

static void of_thread(pthread_t *thread)
{
    omp_event_handle_t event;
#pragma omp task detach(event)
    by_task = 1;
    pthread_create(thread, NULL, fulfills, &event);
#pragma omp taskwait
    by_task++;
    by_thread++;
    check(by_task == 2 && by_thread == 2);
}

static void at_once(pthread_t *thread)
{
    omp_event_handle_t event;
#pragma omp task if (0) detach(event)
    {
        /* The task's own copy ends with its body. */
        kept = event;
        pthread_create(thread, NULL, fulfills, &kept);
    }
    by_thread++;
    check(by_thread == 2);
}

int main(int unused, char **arguments)
{
    pthread_t thread;
    char how = *arguments[1];
    omp_set_num_threads(2);
#pragma omp parallel
#pragma omp single
    switch (how) {
    case 't': of_task(); break;
    case 'p': of_thread(&thread); break;
    case 'u': at_once(&thread); break;
    }
    if (how != 't')
        pthread_join(thread, NULL);
    return 0;
}
