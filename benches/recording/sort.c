/* Merge sort: four threads sort a quarter each, then the quarters are merged in pairs. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 19, THREADS = 4 };

static uint32_t numbers[COUNT], spare[COUNT];

static void merge(size_t from, size_t middle, size_t to) {
    size_t left = from, right = middle;
    for (size_t i = from; i < to; i++)
        spare[i] = left < middle && (right == to || numbers[left] <= numbers[right]) ? numbers[left++] : numbers[right++];
    for (size_t i = from; i < to; i++)
        numbers[i] = spare[i];
}

static void sort(size_t from, size_t to) {
    if (to - from <= 8) {
        for (size_t i = from + 1; i < to; i++)
            for (size_t j = i; j > from && numbers[j - 1] > numbers[j]; j--) {
                uint32_t number = numbers[j];
                numbers[j] = numbers[j - 1];
                numbers[j - 1] = number;
            }
        return;
    }
    size_t middle = from + (to - from) / 2;
    sort(from, middle);
    sort(middle, to);
    merge(from, middle, to);
}

static void *work(void *number) {
    size_t part = COUNT / THREADS, from = part * (size_t)number;
    sort(from, from + part);
    return NULL;
}

int main(void) {
    uint32_t random = 1;
    for (size_t i = 0; i < COUNT; i++) {
        random = random * 1664525 + 1013904223;
        numbers[i] = random;
    }
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    merge(0, COUNT / 4, COUNT / 2);
    merge(COUNT / 2, COUNT / 4 * 3, COUNT);
    merge(0, COUNT / 2, COUNT);
    for (size_t i = 1; i < COUNT; i++)
        if (numbers[i - 1] > numbers[i])
            abort();
    printf("%u\n", numbers[COUNT / 2]);
}
