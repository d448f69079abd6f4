// A worker calls the handler in the registry, which another thread may not have entered yet.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handler {
    int calls;
} *handler;

static void *call(void *argument)
{
    pthread_mutex_lock(&lock);
    handler->calls++; /* @use */
    pthread_mutex_unlock(&lock);
    return argument;
}

static void *enter(void *argument)
{
    static struct handler of_program;
    pthread_mutex_lock(&lock);
    if (!handler)
        handler = &of_program; /* @clear */
    pthread_mutex_unlock(&lock);
    return argument;
}

int main(void)
{
    pthread_t caller, registrar;
    pthread_create(&registrar, NULL, enter, NULL);
    pthread_create(&caller, NULL, call, NULL);
    pthread_join(registrar, NULL);
    pthread_join(caller, NULL);
    return 0;
}
