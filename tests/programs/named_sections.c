/* Critical sections that the program names: a lock without instrumentation, announced with witness.h,
 * and the atomic sections of the verification competitions.
 *
 * `kept` and `whole` are kept by them. `loose` is changed in between, and is the race.
 */
#include "../../include/witness.h"
#include <sched.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);

static int word;
static int kept, whole, loose;

__attribute__((no_sanitize("thread"), noinline)) static void lock_unseen(void)
{
    while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

__attribute__((no_sanitize("thread"), noinline)) static void unlock_unseen(void)
{
    __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
}

static void *worker(void *unused)
{
    lock_unseen();
    WITNESS_ACQUIRED(&word);
    kept++; /* @kept */
    WITNESS_RELEASING(&word);
    unlock_unseen();

    __VERIFIER_atomic_begin();
    whole++; /* @whole */
    __VERIFIER_atomic_end();

    loose++; /* @loose */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return kept == 2 && whole == 2 ? 0 : 1;
}
