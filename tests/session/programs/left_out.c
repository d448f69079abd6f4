/* Functions that no compiler instruments, since they access constants, or what a function returns by value, alone. */
#include <pthread.h>

struct vector {
    double x, y, z;
};

__attribute__((noinline)) static struct vector scaled(double by)
{
    return (struct vector){by, 2 * by, 3 * by};
}

static const int squares[] = {0, 1, 4, 9, 16, 25, 36, 49};

__attribute__((noinline)) static int square(unsigned of)
{
    return squares[of % 8];
}

static double sums[2];

static void *work(void *sum)
{
    struct vector vector = scaled(square((double *)sum - sums + 2));
    *(double *)sum = vector.x + vector.y + vector.z;
    return 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, &sums[0]);
    work(&sums[1]);
    pthread_join(thread, 0);
    return sums[0] == 24 && sums[1] == 54 ? 0 : 1;
}
