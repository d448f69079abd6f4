/* A thread waits for another one by a flag that nobody records; the order is announced. */
#include <pthread.h>
#include <unistd.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

static int data, flag;

__attribute__((no_sanitize("thread"), noinline)) static void set(void) {
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
}

__attribute__((no_sanitize("thread"), noinline)) static int is_set(void) {
    return __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
}

static void *producer(void *unused) {
    data = 42;
    __tsan_release(&flag);
    set();
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, producer, NULL);
    while (!is_set())
        usleep(100);
    __tsan_acquire(&flag);
    int seen = data;
    pthread_join(thread, NULL);
    return seen != 42;
}
