/* A library that synchronizes in its constructor, before recording begins. */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static sem_t permits;
static int made;

static void make(void)
{
    made++;
}

__attribute__((constructor)) static void construct(void)
{
    pthread_once(&once, make);
    sem_init(&permits, 0, 0);
    sem_post(&permits);
    pthread_mutex_lock(&lock);
    pthread_rwlock_rdlock(&shared);
    /* As that of libgobject does. */
    syscall(SYS_futex, &made, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

int part_use(void)
{
    pthread_once(&once, make);
    return made;
}

void part_open(void)
{
    pthread_rwlock_unlock(&shared);
    pthread_mutex_unlock(&lock);
}

int part_enter(void)
{
    sem_wait(&permits);
    pthread_rwlock_wrlock(&shared);
    pthread_mutex_lock(&lock);
    int seen = ++made;
    pthread_mutex_unlock(&lock);
    pthread_rwlock_unlock(&shared);
    sem_post(&permits);
    return seen;
}
