/* What threads may ask of the C library, and get there; each case ends with 0. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static char memory[1 << 18] __attribute__((aligned(4096)));

static void *waits_for_mutex(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* All threads take part in it. */
static int sets_user(void)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, waits_for_mutex, 0);
    usleep(1000);
    int result = setuid(getuid()) | setgid(getgid());
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return result;
}

static void *leaves_something(void *at)
{
    volatile char own[64];
    memset((char *)own, 1, sizeof own);
    *(volatile char **)at = own;
    return 0;
}

/* The memory is there before the thread, and behind it. */
static int brings_stack(void)
{
    char *of_heap = aligned_alloc(4096, sizeof memory), *stacks[] = {memory, of_heap};
    for (int i = 0; i < 2; i++) {
        volatile char *there;
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stacks[i], sizeof memory);
        pthread_create(&thread, &attributes, leaves_something, &there);
        pthread_join(thread, 0);
        stacks[i][0] = 1;
        (void)there[0];
    }
    free(of_heap);
    return 0;
}

static void *says_what_is_blocked(void *unused)
{
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, 0, &set);
    return sigismember(&set, SIGUSR1) && !sigismember(&set, SIGUSR2) ? unused : &mutex;
}

static int blocks_signals(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t set;
    void *wrong;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &set);
    pthread_create(&thread, &attributes, says_what_is_blocked, 0);
    pthread_join(thread, &wrong);
    return wrong != 0;
}

/* Without a limit, and by a clock that nobody waits by. */
static int waits_oddly(void)
{
    pthread_t thread;
    struct timespec limit = {1, 0};
    pthread_create(&thread, 0, waits_for_mutex, 0);
    int refused = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC_RAW, &limit);
    return pthread_timedjoin_np(thread, 0, 0) || refused != EINVAL || pthread_mutex_trylock(&mutex);
}

static int has_first_key(void)
{
    pthread_key_t key;
    int refused = pthread_setspecific(0, &key) == EINVAL && pthread_key_delete(0) == EINVAL;
    return pthread_key_create(&key, 0) || key || !refused;
}

static void comes_to_barrier(union sigval unused)
{
    (void)unused;
    pthread_barrier_wait(&barrier);
}

static int waits_for_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = comes_to_barrier};
    struct itimerspec soon = {{0, 0}, {0, 20000000}};
    timer_t timer;
    pthread_barrier_init(&barrier, 0, 2);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, 0);
    pthread_barrier_wait(&barrier);
    return 0;
}

static int handled, sum;

static void handles(int signal, siginfo_t *info, void *unused)
{
    (void)signal, (void)unused;
    __atomic_add_fetch(&sum, info->si_value.sival_int, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *gets_signals(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < 6)
        usleep(100);
    return unused;
}

/* All of them, also of one kind. */
static int queues_signals(void)
{
    struct sigaction action = {.sa_sigaction = handles, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        sigaction(SIGRTMIN + i, &action, 0);
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, gets_signals, 0);
    usleep(1000);
    for (int i = 0; i < 6; i++)
        pthread_sigqueue(thread, SIGRTMIN + i % 2, (union sigval){.sival_int = 1 << i});
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return sum != 63;
}

/* How long a message was tells the call that has no room for it, if it is asked. */
static int measures_messages(void)
{
    static const int kinds[] = {SOCK_DGRAM, SOCK_SEQPACKET};
    int pair[2], wrong = 0;
    char byte;
    for (int i = 0; i < 2; i++) {
        wrong |= socketpair(AF_UNIX, kinds[i], 0, pair);
        for (int times = 0; times < 2; times++)
            wrong |= send(pair[0], "abc", 3, 0) != 3;
        wrong |= recv(pair[1], NULL, 0, MSG_PEEK | MSG_TRUNC) != 3;
        wrong |= recvfrom(pair[1], &byte, 1, MSG_TRUNC, NULL, NULL) != 3 || byte != 'a';
        wrong |= recv(pair[1], &byte, 1, 0) != 1 || byte != 'a';
    }
    return wrong;
}

int main(int count, char **arguments)
{
    static int (*const cases[])(void) = {
        sets_user, brings_stack, blocks_signals, waits_oddly, has_first_key, waits_for_timer, queues_signals,
        measures_messages,
    };
    return cases[atoi(arguments[count - 1])]();
}
