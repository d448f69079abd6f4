// Blocks that threads hand to each other, grow, free, and get again at the same address.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long *list;
static size_t used, room;
static int wrong;

static void *work(void *start) {
    for (long i = 0; i < 40; i++) {
        pthread_mutex_lock(&m);
        if (used == room) { room = room ? room * 2 : 2; list = realloc(list, room * sizeof *list); }
        list[used++] = (long)start + i;
        pthread_mutex_unlock(&m);
        long *zeroed = calloc(4, sizeof *zeroed), *other = malloc(32), *aligned = aligned_alloc(64, 128);
        for (int k = 0; k < 4; k++) { if (zeroed[k]) wrong++; other[k] = i + k; }
        memcpy(aligned, other, 32);
        if (aligned[3] != i + 3) wrong++;
        free(zeroed); free(other); free(aligned);
    }
    return 0;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, work, (void *)1000);
    pthread_create(&t[1], 0, work, (void *)2000);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    long sum = 0;
    for (size_t i = 0; i < used; i++) sum += list[i];
    free(list);
    return wrong || sum != 40 * 3000 + 2 * 780;
}
