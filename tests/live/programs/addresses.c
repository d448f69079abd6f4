/* A race behind values that are other addresses in each run: handles of threads that have not begun, the end of an array
 * on the heap. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct numbers {
    int *first, *end;
};

static int total;

static void *sum(void *arg) {
    struct numbers *numbers = arg;
    int mine = 0;
    for (int *number = numbers->first; number != numbers->end; number++)
        mine += *number;
    total += mine; /* @a */
    return arg;
}

int main(void) {
    struct numbers *all[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        all[i] = malloc(sizeof *all[i]);
        all[i]->first = calloc(6, sizeof(int));
        all[i]->end = all[i]->first + 6;
        all[i]->first[i] = (int)(all[i]->end - all[i]->first);
        pthread_create(&threads[i], NULL, sum, all[i]);
    }
    int same = pthread_equal(threads[0], threads[1]);
    total += same; /* @b */
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return 0;
}
