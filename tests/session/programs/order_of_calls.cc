// What depends on which thread comes first, without an access of the program's: the order of destructors, whether there
// is a key, the time of a wait, and where memory is. With one argument each, it aborts in some schedule.
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <pthread.h>

static bool dead;

struct Looks {
    ~Looks()
    {
        if (dead)
            abort();
    }
};

struct Dies {
    ~Dies() { dead = true; }
};

static void *makes_looking(void *unused)
{
    static Looks one;
    return unused;
}

static void *makes_dying(void *unused)
{
    static Dies one;
    return unused;
}

static pthread_key_t key;

static void *deletes(void *unused)
{
    pthread_key_delete(key);
    return unused;
}

static void *is_first(void *unused)
{
    if (pthread_key_delete(key))
        abort();
    return unused;
}

static timespec until = {1, 0};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *waits(void *unused)
{
    pthread_mutex_lock(&lock);
    if (pthread_cond_timedwait(&condition, &lock, &until) == EINVAL)
        abort();
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *sets(void *unused)
{
    until.tv_nsec = 2000000000;
    return unused;
}

static void *block;

static void *allocates(void *unused)
{
    return posix_memalign(&block, 16, 16) ? &block : unused;
}

static void *needs(void *unused)
{
    if (!block)
        abort();
    return unused;
}

int main(int, char **arguments)
{
    void *(*pairs[][2])(void *) = {
        {makes_dying, makes_looking}, {deletes, is_first}, {waits, sets}, {allocates, needs}};
    auto [first, second] = pairs[*arguments[1] - '0'];
    pthread_key_create(&key, nullptr);
    pthread_t t, u;
    pthread_create(&t, nullptr, first, nullptr);
    pthread_create(&u, nullptr, second, nullptr);
    pthread_join(t, nullptr);
    pthread_join(u, nullptr);
}
