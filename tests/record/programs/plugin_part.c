#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
int raise_counter(void) {
    pthread_mutex_lock(&lock);
    int now = ++counter;
    pthread_mutex_unlock(&lock);
    return now;
}
