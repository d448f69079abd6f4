/* Who comes second is printed. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int turn;

static void *take(void *number) {
    pthread_mutex_lock(&m);
    if (turn++ == 1)
        printf("second: %d\n", *(int *)number);
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void) {
    pthread_t t[2];
    int numbers[2] = {1, 0};
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, take, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
