// Brings a malloc and a free of its own, which print once and pass on to the runtime's: also what the loader allocates
// while the runtime looks for them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__interceptor_malloc(size_t);
extern void __interceptor_free(void *);

__attribute__((no_sanitize_thread)) void *malloc(size_t size) {
    static int called;
    if (!__sync_lock_test_and_set(&called, 1))
        fprintf(stderr, "a malloc of its own\n");
    return __interceptor_malloc(size);
}

__attribute__((no_sanitize_thread)) void free(void *block) {
    __interceptor_free(block);
}

static void *work(void *unused) {
    for (int i = 0; i < 3; i++) {
        volatile char *block = malloc(1234);
        block[0] = 1;
        free((void *)block);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
    return 0;
}
