/* Two producers and two consumers at a bounded queue, with a mutex and two condition variables. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { ITEMS = 400000, ROOM = 64 };

static uint64_t queue[ROOM];
static size_t head, count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;

static uint64_t stir(uint64_t x) {
    uint64_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = x >> (8 * i) & 255;
    for (int i = 0; i < 7; i++)
        bytes[i + 1] = (bytes[i] * 31 + bytes[i + 1]) & 255;
    return bytes[7];
}

static void *produce(void *argument) {
    for (uint64_t i = 0; i < ITEMS / 2; i++) {
        uint64_t item = i * (uint64_t)argument;
        pthread_mutex_lock(&lock);
        while (count == ROOM)
            pthread_cond_wait(&not_full, &lock);
        queue[(head + count++) % ROOM] = item;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *argument) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ITEMS / 2; i++) {
        pthread_mutex_lock(&lock);
        while (count == 0)
            pthread_cond_wait(&not_empty, &lock);
        uint64_t item = queue[head];
        head = (head + 1) % ROOM;
        count--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
        sum += stir(item);
    }
    return (void *)sum;
}

int main(void) {
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 2 ? produce : consume, (void *)(i + 1));
    uint64_t sum = 0;
    for (size_t i = 0; i < 4; i++) {
        void *part = NULL;
        pthread_join(threads[i], &part);
        sum += (uint64_t)part;
    }
    printf("%lu\n", sum);
}
