/* A lock fails because the mutex was destroyed. What the thread then does comes after what destroyed it; that it came to
   the lock at all does not. */
#include <pthread.h>

static pthread_mutex_t lock;
static int before, after;

static void *user(void *unused) {
    int failed = pthread_mutex_lock(&lock) != 0; /* @lock */
    if (failed)
        before = 2; /* @failed */
    after = 1;      /* @last */
    if (!failed)
        pthread_mutex_unlock(&lock); /* @unlock */
    return unused;
}

int main(void) {
    pthread_mutex_init(&lock, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, user, NULL);
    before = 1;                   /* @before */
    pthread_mutex_destroy(&lock); /* @destroy */
    after = 2;                    /* @after */
    pthread_join(thread, NULL);
    return 0;
}
