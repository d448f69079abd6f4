/* The barrier of ThreadSanitizer's own tests: it keeps threads apart, and synchronizes nothing.
 *
 * No schedule brings the accesses before and behind it next at once, but nothing orders them either, so they are
 * unordered races. A lock that is taken before and behind it synchronizes, and the barrier says in which order. The
 * barrier's variable is four bytes.
 */
#include <pthread.h>

extern void __tsan_testonly_barrier_init(unsigned *, unsigned);
extern void __tsan_testonly_barrier_wait(unsigned *);

static struct {
    unsigned barrier, beside;
} both = {0, 7};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int bare, guarded, rounds, meeting;

static void take(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void *before(void *unused)
{
    bare = 1; /* @before */
    guarded = 1; /* @guarded */
    take();
    __tsan_testonly_barrier_wait(&both.barrier);
    meeting = 1; /* @meeting */
    __tsan_testonly_barrier_wait(&both.barrier);
    rounds = 2; /* @second */
    return unused;
}

static void *behind(void *unused)
{
    rounds = 1; /* @first */
    __tsan_testonly_barrier_wait(&both.barrier);
    bare = 2; /* @behind */
    take();
    guarded = 2; /* @still_guarded */
    meeting = 2; /* @meeting_too */
    __tsan_testonly_barrier_wait(&both.barrier);
    return unused;
}

int main(void)
{
    __tsan_testonly_barrier_init(&both.barrier, 2);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, before, 0);
    pthread_create(&threads[1], 0, behind, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return both.beside != 7 || rounds != 2 || bare != 2;
}
