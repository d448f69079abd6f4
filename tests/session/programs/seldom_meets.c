/* Threads that do much by themselves, and meet once each. With CALLS, a function remembers what nobody records. */
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int own[2], sum;

static void *work(void *count) {
    volatile int *mine = count;
    for (int i = 0; i < 6000; i++)
        *mine += i & 1;
    pthread_mutex_lock(&lock);
    sum += *mine;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(void) {
    pthread_t t[2];
#ifdef CALLS
    char text[] = "a b";
    strtok(text, " ");
#endif
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, work, &own[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return sum != 6000;
}
