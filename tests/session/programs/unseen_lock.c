/* Two threads take a lock that nobody records, and that they tell of only when they have it. The argument says how they
   wait for it: "yields", "sleeps" or "spins". */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

void AnnotateRWLockAcquired(const char *file, int line, void *lock, long is_writer);
void AnnotateRWLockReleased(const char *file, int line, void *lock, long is_writer);

static int held, data;
static const char *waits;

__attribute__((no_sanitize("thread"), noinline)) static void take(void) {
    while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE))
        if (waits[0] == 'y')
            sched_yield();
        else if (waits[1] == 'l')
            usleep(100);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &held, 1);
}

__attribute__((no_sanitize("thread"), noinline)) static void give(void) {
    AnnotateRWLockReleased(__FILE__, __LINE__, &held, 1);
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
}

static void *section(void *unused) {
    take();
    data++;
    give();
    return unused;
}

int main(int argc, char **argv) {
    waits = argc > 1 ? argv[1] : "yields";
    pthread_t thread;
    pthread_create(&thread, NULL, section, NULL);
    section(NULL);
    pthread_join(thread, NULL);
    return data != 2;
}
