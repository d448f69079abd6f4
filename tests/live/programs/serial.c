/* Two threads meet at a barrier, which tells one of them that it came last; what each does next, and that races, is up to
   that. */
#include <pthread.h>

static pthread_barrier_t barrier;
static int before, counted;

static void *meets(void *is_first)
{
    if (is_first)
        before = 1;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        counted++;
    else
        counted = before - 1;
    return is_first;
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, meets, NULL);
    meets(&thread);
    pthread_join(thread, NULL);
    return 0;
}
