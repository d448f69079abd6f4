/* A stack of heap objects under a mutex: each is filled before it is pushed, and only who popped it touches it.
 *
 * When the first object is freed before the second one is allocated, malloc gives its address out again. An order in
 * which both live at once has two addresses: a thread that pops the first object does not touch the second one.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct object {
    long weight, number;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t pushed;
static struct object *stack[4];
static int depth;
static long sum;

static void *worker(void *unused)
{
    (void)unused;
    sem_wait(&pushed);
    pthread_mutex_lock(&mutex);
    struct object *object = stack[--depth];
    pthread_mutex_unlock(&mutex);
    long number = object->number; /* @use */
    free(object);
    pthread_mutex_lock(&mutex);
    sum += number;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static struct object *push(long number)
{
    struct object *object = malloc(sizeof *object);
    object->number = number; /* @fill */
    pthread_mutex_lock(&mutex);
    stack[depth++] = object;
    pthread_mutex_unlock(&mutex);
    sem_post(&pushed);
    return object;
}

int main(void)
{
    pthread_t first, second;
    mallopt(M_ARENA_MAX, 1);
    sem_init(&pushed, 0, 0);
    pthread_create(&first, NULL, worker, NULL);
    pthread_create(&second, NULL, worker, NULL);
    struct object *one = push(1);
    /* In most runs, the first object is freed meanwhile. */
    usleep(20000);
    struct object *two = push(2);
    if (one != two)
        fputs("reused_address: the address was not given out again in this run\n", stderr);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%ld\n", sum);
    return 0;
}
