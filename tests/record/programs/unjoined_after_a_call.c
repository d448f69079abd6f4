// Main is in a call outside while its only thread waits for a mutex, and then ends the process.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void *works(void *unused) {
    pthread_mutex_lock(&taken);
    shared = 1;
    pthread_mutex_unlock(&taken);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&taken);
    pthread_create(&thread, NULL, works, NULL);
    if (system("sleep 0.2") != 0) return 1;
    pthread_mutex_unlock(&taken);
    return 0;
}
