/* A lock made of inline assembly: what it guards cannot race, what nothing guards can. */
#include <pthread.h>

static unsigned char lock = 1;
static int guarded, unguarded;

static void acquire(void) {
    __asm__ volatile("1: lock; decb %0\n\tjns 3f\n2:\tpause\n\tcmpb $0, %0\n\tjle 2b\n\tjmp 1b\n3:" : "+m"(lock) : : "memory", "cc");
}

static void release(void) { __asm__ volatile("movb $1, %0" : "=m"(lock) : : "memory"); }

static void *work(void *unused) {
    acquire();
    guarded++;
    release();
    unguarded++;
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return guarded + unguarded == 4 ? 0 : 1;
}
