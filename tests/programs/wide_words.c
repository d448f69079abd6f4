// Two words are changed as one, and looked at one by one: in no schedule does a look see the one half new, and the other one old.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

union words {
    unsigned __int128 both;
    struct {
        uint64_t low, high;
    };
};

static union words words;
static int data, late;

static void change(uint64_t low, uint64_t high) {
    union words seen = {.both = 0}, next = {.low = low, .high = high};
    while (!__atomic_compare_exchange_n(&words.both, &seen.both, next.both, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}

static void *reader(void *unused) {
    // The low word without the high one is there only after the data.
    while (!(__atomic_load_n(&words.low, __ATOMIC_SEQ_CST) == 1 && __atomic_load_n(&words.high, __ATOMIC_SEQ_CST) == 0))
        sched_yield();
    int seen = data; /* @read */
    late = 1; /* @late_reader */
    return seen == 1 ? unused : &late;
}

int main(void) {
    pthread_t t;
    void *failed;
    change(0, 0);
    pthread_create(&t, NULL, reader, NULL);
    change(1, 1);
    data = 1; /* @write */
    change(1, 0);
    late = 2; /* @late_main */
    pthread_join(t, &failed);
    return failed ? 2 : 0;
}
