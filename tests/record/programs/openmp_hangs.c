/* What threads of OpenMP wait for when nobody can go on: a lock that its thread took twice, and the others at the barrier. */
#include <omp.h>

int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            omp_set_lock(&lock);
            omp_set_lock(&lock);
        }
#pragma omp barrier
    }
    return 0;
}
