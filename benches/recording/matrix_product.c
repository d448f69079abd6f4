/* The product of two matrices; four threads with a part of the rows each. */
#include <pthread.h>
#include <stdio.h>

enum { SIZE = 256, THREADS = 4 };

static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

static void *work(void *number) {
    size_t part = SIZE / THREADS, from = part * (size_t)number;
    for (size_t i = from; i < from + part; i++)
        for (size_t j = 0; j < SIZE; j++) {
            double sum = 0;
            for (size_t k = 0; k < SIZE; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
    return NULL;
}

int main(void) {
    for (size_t i = 0; i < SIZE; i++)
        for (size_t j = 0; j < SIZE; j++) {
            a[i][j] = i * 0.5 + j;
            b[i][j] = i - j * 0.25;
        }
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%f\n", c[SIZE / 2][SIZE / 3]);
}
