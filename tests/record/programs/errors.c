/* What calls return and leave in errno, from three threads at once: calls that fail, and calls that do not, after which
 * errno is what it was. Prints the same whether it is recorded or not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define BEFORE 4321

static char texts[THREADS][1 << 14];
static __thread char *text;
static __thread int length;

/* Of what is not negative, only whether it is 0. */
#define CALL(call)                                                                                                     \
    do {                                                                                                               \
        errno = BEFORE;                                                                                                \
        long result = (long)(call);                                                                                    \
        int error = errno;                                                                                             \
        length += snprintf(text + length, sizeof texts[0] - length, "%s: %d %d\n", #call,                              \
                           result < 0 ? -1 : result != 0, error);                                                      \
    } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER,
                       checking[THREADS] = {PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                            PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                            PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP};
static pthread_cond_t conditions[THREADS] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
                                             PTHREAD_COND_INITIALIZER};
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t some, none;
static atomic_int atomic;
static int plain, counted;

static void nothing(void) {}
static void *nothing_too(void *arg) { return arg; }

static struct timespec soon(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec += 2000000;
    now.tv_sec += now.tv_nsec / 1000000000;
    now.tv_nsec %= 1000000000;
    return now;
}

/* Enough for the ring to be full again and again. */
static int accesses(void) {
    for (int i = 0; i < 100000; i++)
        plain += i;
    return 0;
}

static int contends(void) {
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&mutex);
        counted++;
        usleep(10);
        pthread_mutex_unlock(&mutex);
        sched_yield();
    }
    return 0;
}

static int creates(void) {
    pthread_t thread;
    int result = pthread_create(&thread, NULL, nothing_too, NULL);
    return result ? result : pthread_join(thread, NULL);
}

static void synchronizes(int own) {
    struct timespec limit, never = {0, -1};
    int value;
    CALL(accesses());
    CALL(contends());
    CALL(creates());
    CALL(pthread_mutex_trylock(&held));
    limit = soon();
    CALL(pthread_mutex_timedlock(&held, &limit));
    CALL(pthread_mutex_lock(&checking[own]));
    CALL(pthread_mutex_lock(&checking[own]));
    limit = soon();
    CALL(pthread_cond_timedwait(&conditions[own], &checking[own], &limit));
    CALL(pthread_mutex_unlock(&checking[own]));
    CALL(pthread_mutex_unlock(&checking[own]));
    CALL(sem_trywait(&none));
    limit = soon();
    CALL(sem_timedwait(&none, &limit));
    CALL(sem_timedwait(&none, &never));
    CALL(sem_wait(&some));
    CALL(sem_post(&some));
    CALL(sem_getvalue(&none, &value));
    CALL(pthread_rwlock_rdlock(&shared));
    CALL(pthread_rwlock_trywrlock(&shared));
    CALL(pthread_rwlock_unlock(&shared));
    CALL(pthread_barrier_wait(&barrier) & 0);
    CALL(pthread_once(&once, nothing));
    CALL(atomic_fetch_add(&atomic, 1) & 0);
    limit = (struct timespec){0, 1000000};
    CALL(syscall(SYS_futex, &plain, FUTEX_WAIT_PRIVATE, -1, NULL));
    CALL(syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, value, &limit));
    CALL(syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, 1));
}

static void asks_the_system(void) {
    char buffer[64];
    int pipes[2], status;
    struct stat about;
    struct timespec time = {0, 1000}, never = {0, -1};
    struct timeval limit = {0, 2000};
    struct pollfd file;
    fd_set files;
    sigset_t signals;
    CALL(open("/nonexistent", O_RDONLY));
    CALL(close(-1));
    CALL(read(-1, buffer, 1));
    CALL(write(-1, buffer, 1));
    CALL(lseek(-1, 0, SEEK_SET));
    CALL(stat("/nonexistent", &about));
    CALL(fstat(-1, &about));
    CALL(stat("/", &about));
    CALL(access("/nonexistent", F_OK));
    CALL(unlink("/nonexistent/file"));
    CALL(rename("/nonexistent/file", "/nonexistent/other"));
    CALL(readlink("/", buffer, sizeof buffer));
    CALL(fcntl(-1, F_GETFL));
    CALL(dup(-1));
    CALL(fopen("/nonexistent", "r"));
    CALL(pipe(pipes));
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    CALL(read(pipes[0], buffer, 1));
    CALL(write(pipes[1], "x", 1));
    CALL(read(pipes[0], buffer, 1));
    file = (struct pollfd){pipes[0], POLLIN, 0};
    CALL(poll(&file, 1, 2));
    CALL(poll(&file, 1, 0));
    CALL(poll(NULL, 1, 0));
    FD_ZERO(&files);
    FD_SET(pipes[0], &files);
    CALL(select(pipes[0] + 1, &files, NULL, NULL, &limit));
    CALL(select(-1, NULL, NULL, NULL, NULL));
    CALL(close(pipes[0]));
    CALL(close(pipes[1]));
    CALL(socket(-1, -1, -1));
    CALL(connect(-1, NULL, 0));
    CALL(accept(-1, NULL, NULL));
    CALL(recv(-1, buffer, 1, 0));
    CALL(send(-1, buffer, 1, 0));
    CALL(epoll_wait(-1, NULL, 1, 0));
    CALL(kill(0x7ffffff0, 0));
    CALL(kill(getpid(), 999));
    CALL(pthread_kill(pthread_self(), 999));
    CALL(sigaction(999, NULL, NULL));
    CALL(waitpid(-1, &status, WNOHANG));
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    CALL(sigtimedwait(&signals, NULL, &time));
    CALL(usleep(10));
    CALL(nanosleep(&time, NULL));
    CALL(nanosleep(&never, NULL));
    CALL(clock_gettime(CLOCK_MONOTONIC, &time));
    CALL(clock_gettime(-99, &time));
    CALL(gettimeofday(&limit, NULL));
    CALL(mmap(NULL, 0, 0, 0, -1, 0) == MAP_FAILED);
    CALL(dlopen("/nonexistent.so", RTLD_NOW));
    CALL(execv("/nonexistent", NULL));
}

static void allocates(void) {
    void *block;
    char buffer[16];
    CALL((block = malloc(10000000)) == NULL);
    CALL((free(block), 0));
    CALL(malloc(1UL << 62));
    CALL(calloc(1UL << 40, 1UL << 40));
    CALL(realloc(NULL, 1UL << 62));
    CALL(posix_memalign(&block, 3, 8));
    CALL(snprintf(buffer, sizeof buffer, "%d", 3));
    CALL(strtol("999999999999999999999", NULL, 10));
}

static void *calls(void *arg) {
    int own = (int)(long)arg;
    text = texts[own];
    synchronizes(own);
    asks_the_system();
    allocates();
    return arg;
}

int main(void) {
    sem_init(&some, 0, THREADS);
    sem_init(&none, 0, 0);
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_mutex_lock(&held);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, calls, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        fputs(texts[i], stdout);
    return 0;
}
