// The angle is kept twice, to notice a malfunction; the two are compared while one of them is updated: the second figure
// of D-FORCE.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int angle, mirror;
static atomic_int failed;

static void *supervise(void *unused)
{
    int one = angle; /* @first */
    int other = mirror; /* @second */
    if (one != other)
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
