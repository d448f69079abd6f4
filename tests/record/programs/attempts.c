// Two processes wake each other by semaphores that they try again and again: a permit may come while a process looks.
#define _GNU_SOURCE
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define TIMES 200
int main(void) {
    sem_t *permits = mmap(NULL, 2 * sizeof *permits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&permits[0], 1, 0);
    sem_init(&permits[1], 1, 0);
    if (fork() == 0) {
        for (int i = 0; i < TIMES; i++) {
            sem_post(&permits[0]);
            while (sem_trywait(&permits[1]) != 0) ;
        }
        _exit(0);
    }
    for (int i = 0; i < TIMES; i++) {
        while (sem_trywait(&permits[0]) != 0) ;
        sem_post(&permits[1]);
    }
    return wait(NULL) < 0;
}
