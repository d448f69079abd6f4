// Processes that take turns by a mutex or a semaphore in memory that they share.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, ROUNDS = 50 };

struct shared {
    pthread_mutex_t mutex;
    sem_t semaphore;
    int sum;
};

int main(int count, char **arguments) {
    int by_mutex = !strcmp(arguments[1], "mutex");
    struct shared *shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &attributes);
    sem_init(&shared->semaphore, 1, 1);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork()) continue;
        for (int k = 0; k < ROUNDS; k++) {
            by_mutex ? pthread_mutex_lock(&shared->mutex) : sem_wait(&shared->semaphore);
            int seen = shared->sum;
            usleep(200);
            shared->sum = seen + 1;
            by_mutex ? pthread_mutex_unlock(&shared->mutex) : sem_post(&shared->semaphore);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) wait(0);
    printf("%d\n", shared->sum);
    return shared->sum != PROCESSES * ROUNDS;
}
