/* Signal handlers in the middle of waits: on conditions, mutexes, barriers, joins. A timer of the process sends some, a thread
 * others; they lock, wait, notify, and block themselves. Nothing may be lost on the way. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define ROUNDS 20
#define KICKS 6

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, in_handler = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t nested, waiting;
static int turn = 2, sum;
static volatile int ticks, kicks;

static void check(int ok) {
    if (!ok)
        abort();
}

static void tick(int number) { ticks++; }

/* Locks, waits until it is too late on one condition, and wakes the others. */
static void kick(int number) {
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 100000;
    if (soon.tv_nsec >= 1000000000) {
        soon.tv_nsec -= 1000000000;
        soon.tv_sec++;
    }
    pthread_mutex_lock(&in_handler);
    kicks++;
    pthread_cond_timedwait(&never, &in_handler, &soon);
    pthread_mutex_unlock(&in_handler);
    sem_post(&nested);
}

/* Takes turns with its partner: each waits for the other one. */
static void *partner(void *which) {
    int mine = which != 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        if (turn == 2)
            sem_post(&waiting);
        while (turn != mine)
            check(pthread_cond_wait(&turned, &lock) == 0);
        sum++;
        turn = !mine;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&meeting);
    return 0;
}

/* Waits for the other partners, where only kicks come. */
static void *guest(void *unused) {
    pthread_barrier_wait(&meeting);
    return unused;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    check(sigaction(SIGALRM, &action, 0) == 0);
    action.sa_handler = kick;
    check(sigaction(SIGUSR1, &action, 0) == 0);
    sem_init(&nested, 0, 0);
    sem_init(&waiting, 0, 0);
    pthread_barrier_init(&meeting, 0, 4);
    struct itimerval often = {{0, 2000}, {0, 2000}};
    check(setitimer(ITIMER_REAL, &often, 0) == 0);
    pthread_t partners[2], third;
    check(pthread_create(&third, 0, guest, 0) == 0);
    pthread_create(&partners[0], 0, partner, 0);
    pthread_create(&partners[1], 0, partner, (void *)1);
    /* Both wait, and will for a while. */
    for (int number = 0; number < 2; number++)
        while (sem_wait(&waiting) != 0) {
        }
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    for (int number = 0; number < KICKS; number++) {
        check(pthread_kill(number % 3 == 2 ? third : partners[number % 3], SIGUSR1) == 0);
        while (sem_wait(&nested) != 0) {
        }
    }
    pthread_mutex_lock(&lock);
    turn = 0;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&lock);
    pthread_barrier_wait(&meeting);
    pthread_join(partners[0], 0);
    pthread_join(partners[1], 0);
    pthread_join(third, 0);
    memset(&often, 0, sizeof often);
    setitimer(ITIMER_REAL, &often, 0);
    pthread_mutex_lock(&in_handler);
    check(kicks == KICKS && sum == 2 * ROUNDS);
    pthread_mutex_unlock(&in_handler);
    return 0;
}
