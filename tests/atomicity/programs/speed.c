// The torque is computed from two readings of the speed, which is updated in between: the first figure of D-FORCE.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int speed = 10;
static atomic_int torque;

static void compute(void)
{
    int limit = speed * 4; /* @first */
    int wanted = speed * 3 + 5; /* @second */
    torque = limit < wanted ? limit : wanted;
}

static void *control(void *unused)
{
    compute();
    return unused;
}

static void *measure(void *unused)
{
    speed = 20; /* @between */
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, control, NULL);
    pthread_create(&second, NULL, measure, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
