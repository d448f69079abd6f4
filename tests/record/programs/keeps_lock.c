// A loop that has a lock at all of its hooks but one, counts under it, and goes on until another thread got the lock, too.
// As many more accesses come before as there are arguments: one of these numbers lets its turns end in any place.
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned turns, other, before;

static void *once(void *unused) {
    pthread_mutex_lock(&lock);
    other = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(int count, char **arguments) {
    (void)arguments;
    pthread_t thread;
    pthread_create(&thread, NULL, once, NULL);
    for (int more = 1; more < count; more++)
        before = 1;
    for (unsigned got = 0; !got;) {
        pthread_mutex_lock(&lock);
        turns++;
        got = other;
        pthread_mutex_unlock(&lock);
    }
    pthread_join(thread, NULL);
    return 0;
}
