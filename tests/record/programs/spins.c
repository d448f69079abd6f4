// A thread waits for a plain flag while main sleeps.
#include <pthread.h>
#include <unistd.h>

static volatile int flag;

static void *waits(void *unused) {
    while (!flag) ;
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    sleep(2);
    flag = 1;
    pthread_join(thread, NULL);
    return 0;
}
