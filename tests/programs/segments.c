// System V segments: two threads have segments of their own, one after the other at one address. What both access without order races.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/shm.h>

static int segments[2], both;
static int *shared;

static void *user(void *number) {
    int *own = shmat(segments[*(int *)number], 0, 0);
    own[0]++; /* @own */
    shmdt(own);
    shared[0]++; /* @shared */
    return number;
}

int main(void) {
    int numbers[] = {0, 1};
    for (int i = 0; i < 2; i++) segments[i] = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    both = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
    shared = shmat(both, 0, 0);
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, user, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    shmdt(shared);
    for (int i = 0; i < 2; i++) shmctl(segments[i], IPC_RMID, 0);
    return shmctl(both, IPC_RMID, 0);
}
