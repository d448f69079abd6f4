/* Figure 1 of Said, Wang, Yang, Sakallah (NFM 2011), in C.
 *
 * Two values, two threads: one adds b to a, the other adds a to b, each under the lock of the value
 * that it changes. The getter takes no lock, so one thread reads a value while the other may be
 * storing it. With -DSYNCHRONIZED_GETTER (the paper's second run, figure1_run2.expect) the getter
 * takes the lock and the race is gone. That second run can deadlock, as in the paper; the alarm
 * ends it then, and only the order that completes is recorded.
 */
#include <pthread.h>
#include <unistd.h>

struct value {
    pthread_mutex_t lock;
    int x;
};

static struct value a = {PTHREAD_MUTEX_INITIALIZER, 1};
static struct value b = {PTHREAD_MUTEX_INITIALIZER, 1};

static int get(struct value *v)
{
#ifdef SYNCHRONIZED_GETTER
    pthread_mutex_lock(&v->lock); /* @getter_lock */
    int x = v->x; /* @locked_get */
    pthread_mutex_unlock(&v->lock);
#else
    int x = v->x; /* @get */
#endif
    return x;
}

static void add(struct value *v, struct value *other)
{
    pthread_mutex_lock(&v->lock);
    int mine = v->x;
    int theirs = get(other);
    v->x = mine + theirs; /* @add */
    pthread_mutex_unlock(&v->lock);
}

static void *add_b_to_a(void *unused)
{
    add(&a, &b);
    return unused;
}

static void *add_a_to_b(void *unused)
{
    add(&b, &a);
    return unused;
}

int main(void)
{
    pthread_t t2, t3;
    alarm(10);
    pthread_create(&t2, NULL, add_b_to_a, NULL);
    pthread_create(&t3, NULL, add_a_to_b, NULL);
    pthread_join(t2, NULL);
    pthread_join(t3, NULL);
    return 0;
}
