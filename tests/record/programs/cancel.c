/* Threads cancelled while they wait: on a condition, a semaphore, a join, asleep, reading; their cleanup runs. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int ends[2], cleaned, ready;

static void check(int ok) {
    if (!ok)
        abort();
}

static void unlock(void *arg) {
    cleaned++;
    check(pthread_mutex_unlock(arg) == 0);
}

static void count(void *arg) {
    pthread_mutex_lock(&lock);
    cleaned++;
    pthread_mutex_unlock(&lock);
}

static void is_ready(void) {
    pthread_mutex_lock(&lock);
    ready++;
    pthread_mutex_unlock(&lock);
}

static void *on_condition(void *arg) {
    pthread_mutex_lock(&lock);
    ready++;
    pthread_cleanup_push(unlock, &lock);
    while (1)
        pthread_cond_wait(&condition, &lock);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *on_semaphore(void *arg) {
    pthread_cleanup_push(count, NULL);
    is_ready();
    sem_wait(&semaphore);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *asleep(void *arg) {
    pthread_cleanup_push(count, NULL);
    is_ready();
    while (1)
        sleep(100);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *reading(void *arg) {
    char byte;
    pthread_cleanup_push(count, NULL);
    is_ready();
    check(read(ends[0], &byte, 1) == 1);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *joining(void *arg) {
    pthread_cleanup_push(count, NULL);
    is_ready();
    pthread_join(*(pthread_t *)arg, NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *computing(void *arg) {
    pthread_cleanup_push(count, NULL);
    is_ready();
    while (1)
        pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void) {
    enum { KINDS = 6 };
    void *(*kinds[KINDS])(void *) = {on_condition, on_semaphore, asleep, reading, joining, computing};
    pthread_t threads[KINDS];
    sem_init(&semaphore, 0, 0);
    check(pipe(ends) == 0);
    for (int i = 0; i < KINDS; i++)
        pthread_create(&threads[i], NULL, kinds[i], &threads[1]);
    while (1) {
        pthread_mutex_lock(&lock);
        int all = ready == KINDS;
        pthread_mutex_unlock(&lock);
        if (all)
            break;
        usleep(1000);
    }
    usleep(20000);
    /* The one that joins the second thread first, which must stay joinable. */
    for (int i = KINDS - 1; i >= 0; i--) {
        void *value;
        pthread_cancel(threads[i]);
        check(pthread_join(threads[i], &value) == 0 && value == PTHREAD_CANCELED);
    }
    check(cleaned == KINDS);
    return 0;
}
