// Both values are in one word, which is read and written at once.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct values {
    int doubled, added;
};

static atomic_int input = 7;
static int measured;
static _Atomic struct values values;
static atomic_int alarm_flag;

static void *check(void *unused)
{
    struct values now = values;
    alarm_flag = now.doubled + 1 != now.added + 1;
    return unused;
}

static void *calculate(void *unused)
{
    measured = input;
    values = (struct values){measured * 2, measured + measured};
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
