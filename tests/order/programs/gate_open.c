// The harmless twin of gate.c: the mutex is initialized first.
#include <pthread.h>

struct gate {
    int unused;
    pthread_mutex_t lock;
};

static struct gate gate;

static void *pass(void *unused)
{
    pthread_mutex_lock(&gate.lock); /* @early */
    pthread_mutex_unlock(&gate.lock);
    return unused;
}

int main(void)
{
    pthread_t one;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&gate.lock, &kind);
    pthread_create(&one, NULL, pass, NULL);
    pthread_join(one, NULL);
    return 0;
}
