/* Atomic updates of numbers with a fraction, which gcc makes of an exchange after it has instrumented the program. */
#include <stdio.h>

enum { ROUNDS = 20 };

static double sum;
static struct {
    long before;
    float product;
} shared = {.product = 1};

int main(void)
{
    double reduced = 0;
#pragma omp parallel for num_threads(3) reduction(+ : reduced)
    for (int i = 0; i < ROUNDS; i++) {
        float seen;
#pragma omp atomic
        sum += i;
#pragma omp atomic capture
        seen = shared.product *= 2;
        reduced += seen > 1;
    }
    return sum != 190 || shared.product != 1 << ROUNDS || reduced != ROUNDS;
}
