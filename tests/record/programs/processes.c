/* Condition variables, reader-writer locks, barriers and spin locks that processes share: another process wakes who waits. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_rwlock_t both;
    pthread_barrier_t all;
    pthread_spinlock_t spin;
    int turn, done;
} *shared;

static void take_turns(int own)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&shared->lock);
        while (shared->turn != own)
            pthread_cond_wait(&shared->changed, &shared->lock);
        shared->turn = !own;
        pthread_cond_broadcast(&shared->changed);
        pthread_mutex_unlock(&shared->lock);
    }
}

static void *meet(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        pthread_barrier_wait(&shared->all);
    return unused;
}

/* Two threads of each process, under the one lock and then under the other. */
static void work(int own)
{
    take_turns(own);
    pthread_t thread;
    pthread_create(&thread, NULL, meet, NULL);
    meet(NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_rwlock_wrlock(&shared->both);
        usleep(2000);
        shared->done++;
        pthread_rwlock_unlock(&shared->both);
        pthread_spin_lock(&shared->spin);
        usleep(2000);
        pthread_spin_unlock(&shared->spin);
    }
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->changed, &condition);
    pthread_rwlockattr_t rwlock;
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&shared->both, &rwlock);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->all, &barrier, 4);
    pthread_spin_init(&shared->spin, PTHREAD_PROCESS_SHARED);
    pid_t child = fork();
    work(child == 0);
    if (child == 0)
        _exit(0);
    int status;
    waitpid(child, &status, 0);
    return status != 0 || shared->done != 2 * ROUNDS;
}
