// A thread waits in code that is not instrumented: no hook tells that it waits. What it wrote just before is done.
#include <pthread.h>
#include <sched.h>

static volatile int rounds, value, go_on;

__attribute__((no_sanitize("thread"))) static void wait_for(int round) { while (go_on != round) ; }
__attribute__((no_sanitize("thread"))) static void let_go(int round) { go_on = round; }

static void *writes(void *unused) {
    for (int i = 1; i <= 1; i++) {
        value = 10 * i;
        wait_for(i);
        rounds = i;
    }
    value = 7;
    for (;;) ;
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_create(&t, 0, writes, 0);
    for (int i = 1; i <= 1; i++) {
        while (value != 10 * i) sched_yield();
        let_go(i);
        while (rounds != i) sched_yield();
    }
    return 0;
}
