// Names, results, detached threads, pthread_exit in a destructor's sight, and stacks used again.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/prctl.h>

static pthread_key_t key;
static sem_t named_already, gone;
static int destroyed;

static void destroy(void *value) { destroyed += *(int *)value; free(value); }

static void deeper(int *value) { pthread_exit(value); }

static void *named(void *unused) {
    prctl(PR_SET_NAME, "self-named");
    int *value = malloc(sizeof *value);
    *value = 1;
    pthread_setspecific(key, value);
    deeper(unused);
    return 0;
}

static void *detached(void *unused) { sem_wait(&named_already); sem_post(&gone); return unused; }

static void *uses_stack(void *round) {
    volatile char frame[4000];
    for (int i = 0; i < 4000; i += 500) frame[i] = *(char *)round;
    return (void *)(long)frame[500];
}

int main(void) {
    pthread_key_create(&key, destroy);
    sem_init(&named_already, 0, 0);
    sem_init(&gone, 0, 0);
    pthread_t t[2];
    pthread_create(&t[0], 0, named, &destroyed);
    void *result = 0;
    pthread_join(t[0], &result);
    pthread_create(&t[1], 0, detached, 0);
    pthread_setname_np(t[1], "named-by-main");
    pthread_detach(t[1]);
    sem_post(&named_already);
    sem_wait(&gone);
    static char rounds[8];
    for (int i = 0; i < 8; i++) {
        pthread_t one;
        rounds[i] = i;
        pthread_create(&one, 0, uses_stack, &rounds[i]);
        pthread_join(one, 0);
    }
    return result == &destroyed && destroyed == 1 ? 0 : 1;
}
