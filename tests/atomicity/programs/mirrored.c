// As angles.c, but the comparison is of what was just read: compiled with -fsanitize-coverage=trace-cmp, it tells that
// the two stand for the same.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int angle, mirror;
static atomic_int failed;

static void *supervise(void *unused)
{
    if (atomic_load(&angle) /* @first */
        != atomic_load(&mirror)) /* @second */
        failed = 1;
    return unused;
}

static void *steer(void *unused)
{
    angle = 30; /* @of_first */
    mirror = 30; /* @of_second */
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, supervise, NULL);
    pthread_create(&second, NULL, steer, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
