/* Futexes that are not said to be private: in memory of every sort that is, and, given an argument, in memory that a
 * child shares. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, THREADS = 4 };

struct gate {
    atomic_uint arrived, round;
};

static struct gate in_data = {1, 1}, *gates[4];

static void check(int ok) {
    if (!ok) abort();
}

static void await(atomic_uint *word, unsigned old) {
    while (atomic_load(word) == old)
        if (syscall(SYS_futex, word, FUTEX_WAIT, old, NULL, NULL, 0)) check(errno == EAGAIN || errno == EINTR);
}

static void change(atomic_uint *word) {
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE, 1000, NULL, NULL, 0);
}

static void *work(void *unused) {
    for (int i = 0; i < ROUNDS * 4; i++) {
        struct gate *gate = gates[i % 4];
        unsigned round = atomic_load(&gate->round);
        if (atomic_fetch_add(&gate->arrived, 1) % THREADS == 0)
            change(&gate->round);
        else
            await(&gate->round, round);
    }
    return unused;
}

static void *together(size_t size, int flags) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    return memory;
}

int main(int count, char **unused) {
    struct gate on_stack = {1, 1};
    gates[0] = &in_data;
    gates[1] = &on_stack;
    gates[2] = malloc(sizeof *gates[2]);
    gates[3] = together(4096, MAP_PRIVATE);
    for (int i = 2; i < 4; i++) *gates[i] = on_stack;
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    if (count == 1) return 0;

    struct gate *both = together(4096, MAP_SHARED);
    pid_t child = fork();
    check(child >= 0);
    if (!child) {
        await(&both->round, 0);
        change(&both->arrived);
        _exit(7);
    }
    change(&both->round);
    await(&both->arrived, 0);
    int status;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return 0;
}
