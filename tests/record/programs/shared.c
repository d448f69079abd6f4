/* Named semaphores, and objects that say they are shared between processes. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared {
    sem_t turn;
    pthread_mutex_t lock;
    int sum;
};

static struct shared *shared;
static sem_t *named, *again;

static void check(int ok) {
    if (!ok)
        abort();
}

static void *work(void *arg) {
    for (int i = 0; i < 20; i++) {
        sem_wait(&shared->turn);
        pthread_mutex_lock(&shared->lock);
        shared->sum++;
        pthread_mutex_unlock(&shared->lock);
        sem_post(again);
    }
    return arg;
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/witness-test-%d", getpid());
    named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    check(named != SEM_FAILED);
    again = sem_open(name, 0);
    check(again == named && sem_unlink(name) == 0);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(sem_init(&shared->turn, 1, 2) == 0);
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attr);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 40; i++) {
        sem_wait(named);
        sem_post(&shared->turn);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    int value;
    check(sem_getvalue(&shared->turn, &value) == 0 && value == 2 && shared->sum == 40);
    check(sem_close(named) == 0 && sem_close(again) == 0);
    return 0;
}
