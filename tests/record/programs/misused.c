/* What other processes do to a semaphore, and what no program may do: each argument one thing. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t *semaphore, *done;
static int stage, written;

static void check(int ok) {
    if (!ok)
        abort();
}

static void start(pthread_t *thread, void *(*code)(void *)) {
    check(pthread_create(thread, NULL, code, NULL) == 0);
}

static void *twice(void *arg) {
    check(sem_wait(semaphore) == 0);
    written = 1;
    check(sem_wait(semaphore) == 0);
    written = 2;
    return arg;
}

/* Another process posts twice, and takes a permit away. */
static void family(void) {
    semaphore = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    done = semaphore + 1;
    check(sem_init(semaphore, 1, 0) == 0 && sem_init(done, 1, 0) == 0);
    check(sem_post(semaphore) == 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 2; i++)
            sem_post(semaphore);
        sem_wait(done);
        sem_wait(done);
        sem_post(semaphore);
        _exit(0);
    }
    pthread_t thread;
    start(&thread, twice);
    check(sem_wait(semaphore) == 0 && pthread_join(thread, NULL) == 0 && written == 2);
    check(sem_trywait(semaphore) == -1 && errno == EAGAIN);
    /* The child takes both of these. */
    sem_post(done);
    sem_post(done);
    check(sem_wait(semaphore) == 0 && sem_trywait(done) == -1 && waitpid(child, NULL, 0) == child);
}

static void *waits_twice(void *arg) {
    check(sem_wait(semaphore) == 0 && sem_wait(semaphore) == 0);
    return arg;
}

/* The count is written like any memory. */
static void overwritten(void) {
    static sem_t one;
    semaphore = &one;
    check(sem_init(semaphore, 0, 0) == 0);
    static sem_t image;
    check(sem_init(&image, 0, 2) == 0);
    memcpy(semaphore, &image, sizeof image);
    pthread_t thread;
    start(&thread, waits_twice);
    check(pthread_join(thread, NULL) == 0);
}

static void *holds_and_wakes(void *arg) {
    pthread_mutex_lock(&lock);
    __atomic_store_n(&stage, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) == 1) {
        pthread_cond_signal(&condition);
        usleep(100);
    }
    pthread_mutex_unlock(&lock);
    return arg;
}

/* Waits at a condition with a mutex that another thread holds, and with one that nobody holds. */
static void unheld(void) {
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_t thread;
    start(&thread, holds_and_wakes);
    while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) == 0)
        usleep(100);
    pthread_cond_wait(&condition, &lock);
    pthread_cond_wait(&condition, &other);
    __atomic_store_n(&stage, 2, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
}

/* Times that are none. */
static void times(void) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 1;
    limit.tv_nsec = 1000000000;
    static sem_t none;
    sem_init(&none, 0, 0);
    check(pthread_mutex_timedlock(&lock, &limit) == 0);
    check(pthread_cond_timedwait(&condition, &lock, &limit) == EINVAL);
    check(pthread_cond_clockwait(&condition, &lock, CLOCK_PROCESS_CPUTIME_ID, &limit) == EINVAL);
    check(pthread_mutex_timedlock(&lock, &limit) == EINVAL);
    check(pthread_mutex_unlock(&lock) == 0);
    check(sem_timedwait(&none, &limit) == -1 && errno == EINVAL);
    check(pthread_rwlock_timedrdlock(&rwlock, &limit) == EINVAL);
    check(pthread_rwlock_timedwrlock(&rwlock, &limit) == EINVAL);
}

static void *is_woken(void *arg) {
    pthread_mutex_lock(&lock);
    stage = 1;
    pthread_cond_signal(&condition);
    while (stage == 1)
        pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

/* Destroys a condition at which a thread waits. */
static void destroyed(void) {
    pthread_t thread;
    start(&thread, is_woken);
    pthread_mutex_lock(&lock);
    while (stage == 0)
        pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&condition);
    check(0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*code)(void);
    } all[] = {{"family", family}, {"overwritten", overwritten}, {"unheld", unheld}, {"times", times}, {"destroyed", destroyed}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && strcmp(argv[1], all[i].name) == 0)
            all[i].code();
    return 0;
}
