/* The first thread waits for the other one, with a limit. In time, the flag orders the two; after it, nothing does. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word, data;

static void *work(void *unused) {
    data = 1;
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 2;
    while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST)) {
        long done = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, &limit, NULL, FUTEX_BITSET_MATCH_ANY);
        if (done < 0 && errno == ETIMEDOUT)
            break;
    }
    data++;
    pthread_join(thread, NULL);
}
