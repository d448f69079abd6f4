// Two values that come from one measurement are read while they are computed anew, and what follows from the two is
// compared: the sixth figure of D-FORCE.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int input = 7;
static int measured;
static atomic_int doubled, added;
static atomic_int alarm_flag;

static void *check(void *unused)
{
    int one = doubled + 1; /* @first */
    int other = added + 1; /* @second */
    alarm_flag = one != other;
    return unused;
}

static void *calculate(void *unused)
{
    measured = input;
    doubled = measured * 2; /* @of_first */
    added = measured + measured; /* @of_second */
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, check, NULL);
    pthread_create(&second, NULL, calculate, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
