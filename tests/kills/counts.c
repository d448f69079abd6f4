// Two threads count under a lock, and write down each number.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long cell;

static void *count(void *unused) {
    for (int i = 0; i < 100; i++) {
        char text[24];
        pthread_mutex_lock(&lock);
        int len = snprintf(text, sizeof text, "%ld\n", ++cell);
        if (write(1, text, len) != len) _exit(1);
        pthread_mutex_unlock(&lock);
        // Time passes, and nothing is recorded.
        for (int n = 0; n < 100000; n++) __asm__ volatile("");
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, count, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
