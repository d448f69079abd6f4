// Barriers, semaphores and once-only initialization.
#include <pthread.h>
#include <semaphore.h>

static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t tokens;
static int cells[3], set, last;

static void initialize(void) { set++; }

static void *work(void *self) {
    int *own = self, sum = 0;
    pthread_once(&once, initialize);
    for (int round = 0; round < 4; round++) {
        *own = round;
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) last++;
        for (int i = 0; i < 3; i++) sum += cells[i] != round;
        pthread_barrier_wait(&barrier);
    }
    sem_wait(&tokens);
    *own = sum;
    sem_post(&tokens);
    return 0;
}

int main(void) {
    pthread_t t[3];
    pthread_barrier_init(&barrier, 0, 3);
    sem_init(&tokens, 0, 2);
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, &cells[i]);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    pthread_barrier_destroy(&barrier);
    return cells[0] + cells[1] + cells[2] + (set != 1) + (last != 4);
}
