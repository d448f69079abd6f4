/* A race after what is read from standard input; the program ends before it if nothing is there. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int number, total, calls;

static void *add(void *arg) {
    total += number; /* @a */
    calls++;
    return arg;
}

int main(void) {
    char line[32];
    if (!fgets(line, sizeof line, stdin))
        return 1;
    number = atoi(line);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("total %d\n", total);
    return 0;
}
