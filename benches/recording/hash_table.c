/* A hash table with chains, one lock for 64 buckets; four threads insert, find and erase. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 1 << 14, LOCKS = BUCKETS / 64, KEYS = 1 << 15, ROUNDS = 600000, THREADS = 4 };

struct node {
    struct node *next;
    uint64_t key, value;
};

static struct node *buckets[BUCKETS];
static pthread_mutex_t locks[LOCKS];

static uint64_t hash(uint64_t key) {
    key ^= key >> 31;
    key *= 0x9e3779b97f4a7c15;
    return key >> 40;
}

static struct node **find(size_t bucket, uint64_t key) {
    struct node **place = &buckets[bucket];
    while (*place && (*place)->key != key)
        place = &(*place)->next;
    return place;
}

static void *work(void *argument) {
    uint64_t random = (uint64_t)argument, sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        uint64_t key = (random >> 33) % KEYS;
        size_t bucket = hash(key) % BUCKETS;
        pthread_mutex_t *lock = &locks[bucket / 64];
        pthread_mutex_lock(lock);
        struct node **place = find(bucket, key);
        switch ((random >> 60) & 3) {
        case 0:
            if (*place) {
                struct node *old = *place;
                *place = old->next;
                free(old);
                break;
            }
            /* fall through */
        case 1:
            if (!*place) {
                struct node *node = malloc(sizeof *node);
                *node = (struct node){NULL, key, 0};
                *place = node;
            }
            (*place)->value += key;
            break;
        default:
            if (*place)
                sum += (*place)->value;
        }
        pthread_mutex_unlock(lock);
    }
    return (void *)sum;
}

int main(void) {
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    uint64_t sum = 0;
    for (size_t i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum += (uint64_t)part;
    }
    printf("%d\n", sum != 0);
}
