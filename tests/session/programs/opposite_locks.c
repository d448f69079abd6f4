/* Two threads take two locks in opposite order. */
#include <pthread.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *forwards(void *u) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return u;
}

static void *backwards(void *u) {
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return u;
}

int main(void) {
    pthread_t t[2];
    pthread_create(&t[0], 0, forwards, 0);
    pthread_create(&t[1], 0, backwards, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
