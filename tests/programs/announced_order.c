/* Order that the program announces beside a flag without instrumentation: __tsan_release comes before __tsan_acquire,
 * AnnotateHappensBefore before AnnotateHappensAfter. Releases are not ordered among each other.
 *
 * `sent` and `noted` are handed over. `both` is written by both senders before their releases, and is the race; so is
 * `late`, written after the release.
 */
#include <pthread.h>
#include <sched.h>

extern void __tsan_acquire(void *);
extern void __tsan_release(void *);
extern void AnnotateHappensBefore(const char *, int, const volatile void *);
extern void AnnotateHappensAfter(const char *, int, const volatile void *);

static int flags[2];
static int sent, noted, both, late;

__attribute__((no_sanitize("thread"), noinline)) static void set(int which)
{
    __atomic_store_n(&flags[which], 1, __ATOMIC_RELEASE);
}

__attribute__((no_sanitize("thread"), noinline)) static void await(int which)
{
    while (!__atomic_load_n(&flags[which], __ATOMIC_ACQUIRE))
        sched_yield();
}

static void *sends(void *unused)
{
    sent = 1; /* @sent */
    both = 1; /* @first */
    __tsan_release(flags);
    set(0);
    late = 1; /* @late */
    return unused;
}

static void *notes(void *unused)
{
    noted = 1; /* @noted */
    both = 2;  /* @second */
    AnnotateHappensBefore(__FILE__, __LINE__, flags);
    set(1);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, sends, 0);
    pthread_create(&threads[1], 0, notes, 0);
    await(0);
    await(1);
    __tsan_acquire(flags);
    int sum = sent; /* @received */
    AnnotateHappensAfter(__FILE__, __LINE__, flags);
    sum += noted; /* @heard */
    late = 2;     /* @later */
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return sum != 2;
}
