/* Ends the process that its argument names. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int data;

static void *writer(void *arg) {
    data++;
    return arg;
}

int main(int count, char **words) {
    pthread_t threads[2];
    (void)count;
    kill(atoi(words[1]), SIGTERM);
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
